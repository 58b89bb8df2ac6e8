import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { request } from '../support/client.ts';
import { prepareHome } from '../support/home.ts';
import { spawnDaemon } from '../support/spawned.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';

/** What only plans and watched logs need. */
const OF_PLANS = ['createPlanLimits', 'shareOut', 'watchLogs', 'missingCalls'];

/** Those functions whose code a daemon has loaded when it ends, by V8's coverage. */
async function loadedAfter(headers: Record<string, string>, path: string, model: string): Promise<string[]> {
  const upstream = await startUpstream();
  const home = await prepareHome(tmpHome(), {
    upstreamUrl: upstream.url,
    settings: { 'passthrough.subscriptions': 'allow' },
  });
  const coverage = join(home.paths.home, 'coverage');
  // A login's service can't be reached.
  const env = { NODE_V8_COVERAGE: coverage, HTTPS_PROXY: 'http://127.0.0.1:9' };
  const daemon = await spawnDaemon(home.paths.home, { env });
  const origin = `http://127.0.0.1:${daemon.port}`;
  const body = { model, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
  const own = { authorization: `Bearer ${home.key}`, 'x-gw-key': home.key, ...headers };
  await request(origin, { path, headers: own, body });
  const admin = { authorization: `Bearer ${home.adminKey}` };
  const dashboard = await request(origin, { method: 'GET', path: '/v1/gw/dashboard', headers: admin });
  expect(dashboard.status).toBe(200);
  daemon.kill('SIGTERM');
  await daemon.exited;
  await upstream.close();
  return readdirSync(coverage).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as Coverage;
    return result.flatMap(({ functions }) => functions.map(({ functionName }) => functionName));
  });
}

interface Coverage {
  result: { url: string; functions: { functionName: string }[] }[];
}

test('a daemon without logins loads nothing of plan windows and of watched logs', async () => {
  const loaded = await loadedAfter({}, '/v1/chat/completions', 'mock/test-model');
  // The names are those of functions: of one that is loaded, too.
  expect(loaded).toContain('buildGateway');
  expect(OF_PLANS.filter((name) => loaded.includes(name))).toEqual([]);
  const login = { authorization: 'Bearer sk-ant-oat01-made-up', 'user-agent': 'claude-cli/2.1.329' };
  expect(await loadedAfter(login, '/v1/messages', 'claude-sonnet-4-5')).toContain('createPlanLimits');
});
