import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { TEAM_URL } from '../../src/config/secrets.ts';
import { createPostgresAdmin } from '../../src/team/postgres/admin.ts';
import { type CliHome, cliHome } from '../cli/cli-home.ts';
import { PLAIN, startGateway, until } from '../support/gateway.ts';
import { prepareHome } from '../support/home.ts';
import { postgresMissing } from '../support/postgres.ts';
import { startTeam, type TeamServer } from './team-server.ts';

const missing = postgresMissing({ ownServer: true });
/** A request holds $0.001 at most. */
const PRICE = { input: 0, output: 10 };
const BODY = { ...PLAIN, max_tokens: 100 };

interface Trouble {
  what: string;
  /** What an admin, or whoever wrote the URL, got wrong. */
  sql?: string;
  url?: (url: string) => string;
  undo?: string;
  says: RegExp;
  /** The exit code of a join. */
  code: number;
}

const TROUBLES: Trouble[] = [
  {
    what: 'a wrong URL',
    url: (url) => url.replace(/:\d+\//, ':1/'),
    says: /can't be reached: nothing listens there/,
    code: 3,
  },
  {
    what: 'what is no URL',
    url: () => 'db.example.com',
    says: /"db.example.com" is not a PostgreSQL URL. Use postgres:/,
    code: 2,
  },
  {
    what: 'a refused role',
    sql: 'ALTER ROLE ann NOLOGIN',
    undo: 'ALTER ROLE ann LOGIN',
    says: /refused ann: .*Check the user and password/,
    code: 4,
  },
  { what: 'no TLS', url: (url) => `${url}?sslmode=require`, says: /offers no TLS/, code: 1 },
  {
    what: 'a missing right',
    sql: 'REVOKE gw_team_member FROM ann',
    undo: 'GRANT gw_team_member TO ann',
    says: /role ann lacks a right: .*GRANT gw_team_member TO ann/,
    code: 4,
  },
  {
    what: 'a schema of another version',
    sql: 'INSERT INTO migrations VALUES (999)',
    undo: 'DELETE FROM migrations WHERE version = 999',
    says: /version 999; this gw knows up to \d+. Update gw/,
    code: 1,
  },
];

describe.skipIf(missing)('a team that can not be asked', () => {
  let team: TeamServer;
  beforeAll(async () => {
    team = await startTeam();
  }, 60_000);
  afterAll(() => team?.end());
  beforeEach(() => team.reset());

  test.each(TROUBLES)('$what is named, and local budgets go on', async ({ sql, url, undo, says, code }) => {
    const admin = createPostgresAdmin(team.url('boss'));
    await admin.setBudget({ project: 'web', period: 'daily', capNanoUsd: 1e9 });
    await admin.close();
    const cli = cliHome({ timezone: 'UTC' });
    await prepareHome(cli.paths.home, { upstreamUrl: 'http://127.0.0.1:1' });
    const other = cliHome({ timezone: 'UTC' });
    await prepareHome(other.paths.home, { upstreamUrl: 'http://127.0.0.1:1' });
    await join(cli, team.url('ann'), 0);
    const changed = url?.(team.url('ann')) ?? team.url('ann');
    if (sql) await team.su.query(sql);
    onTestFinished(async () => void (undo && (await team.su.query(undo))));
    expect(await join(other, changed, code)).toMatch(says);

    const gateway = await startGateway({
      home: cli.paths.home,
      credentials: { mock: 'provider-key', [TEAM_URL]: changed },
      price: PRICE,
      budget: { period: 'daily', capUsd: 1 },
      settings: { 'admission.max_wait_ms': 100 },
      mayLog: /can't sync with the team/,
    });
    const web = await gateway.newProject('web');
    await gateway.setBudget({ period: 'daily', capUsd: 1 }, web);
    const authorization = `Bearer ${await gateway.newKey('web')}`;
    const asWeb = () => gateway.post(BODY, { headers: { authorization } });
    expect((await gateway.post(BODY)).status).toBe(200);
    await until(async () => (await cli.run(['team', 'status'])).code === 3);
    const status = await cli.run(['team', 'status']);
    expect(status.stdout + status.stderr).toMatch(says);
    const refused = await asWeb();
    expect([429, 503]).toContain(refused.status);
    expect((await gateway.post(BODY)).status).toBe(200);
    if (url) return;
    await team.su.query(undo as string);
    await until(async () => (await asWeb()).status === 200);
  });
});
test.runIf(missing)(`skipped: ${missing}`, () => {});

async function join(cli: CliHome, url: string, code: number): Promise<string> {
  const result = await cli.run(['team', 'join', url]);
  expect(result.code).toBe(code);
  return result.stderr;
}
