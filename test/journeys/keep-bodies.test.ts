import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { compareBodies } from '../../src/cli/requests/compare-bodies.ts';
import { formatRequestId, requestIdAt } from '../../src/ids.ts';
import type { RequestBodiesView } from '../../src/operations/schemas/bodies.ts';
import {
  createKeptBodies,
  KEPT_MS,
  MAX_BODIES_BYTES,
  type RequestBodies,
  readBodies,
  removeBodies,
} from '../../src/store/requests/kept-bodies.ts';
import { cliHome, commandLineOf } from '../cli/cli-home.ts';
import { COMPRESSIBLE, MODEL, PLAIN, startGateway, until } from '../support/gateway.ts';
import type { TestSettings } from '../support/home.ts';
import { json } from '../support/scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { messageBody, text } from '../wire/support/messages-shapes.ts';

const ON: TestSettings = { 'requests.keep_bodies': 'on', 'optimizer.holdout': 0 };

async function served(settings: TestSettings = ON, home = tmpHome()) {
  const clock = createVirtualClock(Date.now());
  const gateway = await startGateway({ clock, settings, home, budget: { period: 'daily', capUsd: 5 } });
  const folder = gateway.paths.bodies;
  const files = () => (existsSync(folder) ? readdirSync(folder) : []);
  /** Sends a request; its id. */
  async function ask(body: object = COMPRESSIBLE): Promise<string> {
    const { header, status } = await gateway.post(body);
    expect(status).toBe(200);
    await gateway.committed();
    return header('x-service-request-id') ?? '';
  }
  async function kept(body: object = COMPRESSIBLE): Promise<string> {
    const id = await ask(body);
    await until(() => files().includes(`${id}.gz`));
    return id;
  }
  return {
    gateway,
    clock,
    files,
    ask,
    kept,
    local: commandLineOf(gateway, 'locally', clock),
    remote: commandLineOf(gateway, 'remotely', clock),
    bodies: (id: string, key = gateway.adminKey) =>
      gateway.get(`/v1/gw/requests/${id}/bodies`, { authorization: `Bearer ${key}` }),
  };
}

describe('requests.keep_bodies', () => {
  test('shows what was changed, the same locally and through GW_URL, to the owner alone', async () => {
    const { gateway, clock, local, remote, kept, bodies } = await served();
    const id = await kept();
    const { stdout, code } = await local.run(['requests', id, '--diff']);
    expect(code).toBe(0);
    expect(stdout).toContain(`Request ${id}: what gw changed`);
    expect(stdout).toMatch(/\n2 tool: about [\d,]+ tokens before, [\d,]+ after\n- \[\{"id":0,/);
    expect(stdout).toMatch(/The optimizer changed 1 of 4 messages and saved about [\d,]+ tokens\./);
    expect(stdout).toContain('gw also set max_tokens to 32000');
    expect(stdout).toContain(`gw also changed model from "${MODEL}" to "test-model"`);
    expect((await remote.run(['requests', id, '--diff'])).stdout).toBe(stdout);
    const diff = await local.json<Record<string, unknown>>(['requests', id, '--diff']);
    expect(await remote.json(['requests', id, '--diff'])).toEqual(diff);
    const record = (await gateway.settled(1))[0];
    expect(diff).toMatchObject({
      object: 'request.diff',
      id,
      saved_tokens: record?.savedTokens,
      messages: [{ index: 2, role: 'tool', before: COMPRESSIBLE.messages[2]?.content }],
    });
    // The bodies are those of the client and of the provider, byte for byte.
    const folder = gateway.paths.bodies;
    expect([folder, join(folder, `${id}.gz`)].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o700, 0o600,
    ]);
    const view = JSON.parse((await bodies(id)).text()) as RequestBodiesView;
    expect([view.client, view.sent]).toEqual([
      JSON.stringify(COMPRESSIBLE),
      gateway.upstream.requests[0]?.body.toString(),
    ]);
    const refused = await bodies(id, gateway.key);
    expect([refused.status, JSON.parse(refused.text())]).toMatchObject([
      403,
      { error: { code: 'admin_required' } },
    ]);
    expect((await bodies('..%2F..%2Fconfig.json')).status).toBe(404);
    const tomorrow = commandLineOf(gateway, 'locally', createVirtualClock(clock.now() + KEPT_MS));
    const gone = await tomorrow.run(['requests', id, '--diff']);
    expect([gone.code, gone.stderr]).toEqual([5, expect.stringContaining('more than 24 hours ago')]);
  });

  test('keeps nothing of what the optimizer left alone, and says which case it is', async () => {
    const home = tmpHome();
    mkdirSync(join(home, 'bodies'));
    const old = formatRequestId(requestIdAt(Date.now() - KEPT_MS - 1));
    writeFileSync(join(home, 'bodies', `${old}.gz`), 'from before the start');
    const { gateway, clock, local, ask, files } = await served(ON, home);
    await until(() => files().length === 0);
    const plain = await ask(PLAIN);
    const off = await ask({ ...COMPRESSIBLE, service: { optimize: false } });
    const blocked = (await gateway.post({ ...COMPRESSIBLE, model: 'nowhere/none' })).header(
      'x-service-request-id',
    );
    gateway.configure({ ...ON, 'requests.keep_bodies': 'off' });
    const before = await ask();
    const diffOf = async (id = '') => {
      const { code, stderr } = await local.run(['requests', id, '--diff']);
      return `${code} ${stderr}`;
    };
    expect(await diffOf(before)).toMatch(
      /^5 .*requests\.keep_bodies is off.*config set requests\.keep_bodies on/s,
    );
    gateway.configure(ON);
    expect(await diffOf(before)).toMatch(/^5 .*before requests\.keep_bodies was on.*24 MB.*512 MB/s);
    for (const id of [plain, off])
      expect(await diffOf(id)).toMatch(/^5 .*the optimizer left it unchanged\. Why: /s);
    expect(await diffOf(blocked)).toMatch(/^5 .*it was never sent/s);
    expect(await diffOf('req_00000000001')).toMatch(/^5 .*no request req_00000000001/s);
    expect(await diffOf('../../etc/passwd')).toMatch(/^2 .*is not a request id/s);
    const list = await local.run(['requests', '--diff']);
    expect([list.code, list.stderr]).toEqual([2, expect.stringContaining('--diff shows one request')]);
    expect(files()).toEqual([]);
    // Another daemon, which is gone by now, had a request that came in yesterday.
    mkdirSync(join(home, 'bodies'), { recursive: true });
    writeFileSync(join(home, 'bodies', `${old}.gz`), '');
    await until(async () => {
      await clock.advance(1_800_000);
      return files().length === 0;
    });
  });

  test('deletes the bodies with the records, or all when it is switched off, whether gw runs or not', async () => {
    const { gateway, clock, local, remote, kept, files } = await served();
    const ids = [await kept(), await kept()];
    await gateway.newProject('web');
    expect((await remote.run(['projects', 'delete-data', 'web', '--yes'])).code).toBe(0);
    expect(files()).toHaveLength(2);
    const copy = join(gateway.paths.home, 'copy.db');
    expect((await local.run(['backup', copy])).code).toBe(0);
    expect(readFileSync(copy).includes('item 199')).toBe(false);
    expect((await remote.run(['projects', 'delete-data', 'default', '--yes'])).code).toBe(0);
    expect(files()).toEqual([]);
    expect((await local.run(['requests', ids[0] ?? '', '--diff'])).stderr).toContain(`no request ${ids[0]}`);
    await kept();
    expect((await local.run(['projects', 'delete-data', 'default', '--yes'])).code).toBe(0);
    expect(files()).toEqual([]);

    await kept();
    gateway.configure({ ...ON, 'requests.keep_bodies': 'off' });
    await clock.advance(5_000);
    await until(() => !existsSync(gateway.paths.bodies));
    gateway.configure(ON);
    await kept();
    await gateway.stop();
    expect((await local.run(['config', 'set', 'requests.keep_bodies', 'true'])).stderr).toContain(
      'unencrypted',
    );
    expect(existsSync(gateway.paths.bodies)).toBe(true);
    await local.run(['config', 'unset', 'requests.keep_bodies']);
    expect(existsSync(gateway.paths.bodies)).toBe(false);
  });

  test('shows the messages in the words of the client where the request was translated', async () => {
    const gateway = await startBothWires({ settings: ON });
    gateway.upstream.script(json(200, messageBody([text('200')])));
    const { status, header } = await gateway.post({ ...COMPRESSIBLE, model: CLAUDE });
    expect(status).toBe(200);
    const id = header('x-service-request-id') ?? '';
    await until(() => existsSync(join(gateway.paths.bodies, `${id}.gz`)));
    await gateway.settled(1);
    const local = commandLineOf(gateway, 'locally', createVirtualClock(Date.now()));
    const { stdout } = await local.run(['requests', id, '--diff']);
    expect(stdout).toContain('2 tool: about');
    expect(stdout).toContain('Then gw translated it for the provider, from chat/completions to messages.');
  });
});

test('says which bodies cannot be compared', () => {
  const bodies = { object: 'request.bodies', id: 'req_1', kept_until: '', endpoint: 'responses' } as const;
  const broken = {
    ...bodies,
    client: '{"a":"\u0001"}',
    optimized: '{}',
    sent: '{}',
    sent_endpoint: 'responses',
  };
  expect(() => compareBodies(broken)).toThrow(
    "the bodies of req_1 can't be compared, because one is not valid JSON",
  );
});

test("compares contents of Gemini's API", () => {
  const bodyOf = (text: string) => JSON.stringify({ contents: [{ role: 'user', parts: [{ text }] }] });
  const [client, optimized] = [bodyOf('Hello,   all'), bodyOf('Hello, all')];
  const bodies = { object: 'request.bodies', id: 'req_1', kept_until: '', endpoint: 'gemini' } as const;
  const changes = compareBodies({ ...bodies, client, optimized, sent: optimized, sent_endpoint: 'gemini' });
  expect([changes.messageCount, changes.messages.length, changes.fields]).toEqual([1, 1, []]);
});

describe('the folder of kept bodies', () => {
  const NOW = Date.UTC(2026, 0, 15);
  const bodiesOf = (client: Buffer): RequestBodies => ({
    endpoint: 'messages',
    client,
    optimized: Buffer.from('{}'),
    sent: Buffer.from('{}'),
    sentEndpoint: 'messages',
  });

  /** A store whose first requests came in now. */
  async function store(limits: { maxBytes?: number; maxFiles?: number } = {}) {
    const home = cliHome();
    await home.record(...[0, 1, 2, 3].map((i) => ({ timeMs: NOW + i, id: requestIdAt(NOW + i) })));
    const db = await home.open();
    const folder = join(home.paths.home, 'bodies');
    const warnings: string[] = [];
    const time = { now: NOW };
    const bodies = createKeptBodies({
      folder,
      db,
      now: () => time.now,
      isOn: () => true,
      maxWaitingBytes: 10_000,
      ...limits,
      warn: (text) => void warnings.push(text),
    });
    const ids = [0, 1, 2, 3].map((i) => requestIdAt(NOW + i));
    return {
      bodies,
      folder,
      home: home.paths.home,
      time,
      warnings,
      ids,
      names: () => readdirSync(folder).sort(),
      async keep(index: number, body = Buffer.from('{"a":"é"}')) {
        bodies.keep(ids[index] ?? 0, bodiesOf(body));
        await bodies.settled();
      },
      read: async (index: number) => (await readBodies(folder, ids[index] ?? 0))?.client,
    };
  }

  test('deletes what is older than 24 hours, and what a crash left behind', async () => {
    const { bodies, folder, time, names, ids, keep, read } = await store();
    await keep(0);
    await keep(1);
    expect(await read(0)).toBe('{"a":"é"}');
    const [first = '', second = ''] = ids.map((id) => `${formatRequestId(id)}.gz`);
    writeFileSync(join(folder, `${second}.new`), 'half');
    writeFileSync(join(folder, 'notes.txt'), "somebody else's");
    time.now += KEPT_MS;
    await bodies.sweep();
    expect(names()).toEqual(['notes.txt', first, second]);
    time.now += 1;
    await bodies.sweep();
    expect(names()).toEqual(['notes.txt', second]);
    await removeBodies(folder);
    expect(names()).toEqual(['notes.txt']);
  });

  test('deletes the oldest beyond the limit, and what it did not write itself counts', async () => {
    const { bodies, keep, names, ids, folder } = await store({ maxBytes: 2_500 });
    for (const i of [0, 1]) await keep(i, randomBytes(1_000));
    await keep(1, randomBytes(1_100));
    expect(names()).toHaveLength(2);
    await keep(2, randomBytes(1_000));
    expect(names()).toEqual([1, 2].map((i) => `${formatRequestId(ids[i] ?? 0)}.gz`));
    writeFileSync(join(folder, `${formatRequestId(ids[3] ?? 0)}.gz`), randomBytes(2_400));
    await bodies.sweep();
    expect(names()).toEqual([`${formatRequestId(ids[3] ?? 0)}.gz`]);
    const few = await store({ maxFiles: 1 });
    for (const i of [0, 1, 1]) await few.keep(i);
    expect(few.names()).toEqual([`${formatRequestId(ids[1] ?? 0)}.gz`]);
  });

  test('keeps no request that is too large, not on record, or more than the disk keeps up with', async () => {
    const { bodies, folder, ids, names, keep, warnings } = await store();
    await keep(0, Buffer.alloc(MAX_BODIES_BYTES));
    expect(existsSync(folder)).toBe(false);
    bodies.keep(requestIdAt(NOW + 60_000), bodiesOf(Buffer.from('{}')));
    for (const id of ids) bodies.keep(id, bodiesOf(Buffer.alloc(4_000)));
    await bodies.settled();
    expect(names()).toHaveLength(2);
    expect(warnings).toEqual([expect.stringContaining('the disk is too slow')]);
  });

  test('follows no link, and says once why nothing is kept', async () => {
    const { bodies, home, folder, ids, warnings, keep, read } = await store();
    const elsewhere = join(home, 'elsewhere');
    const secret = join(elsewhere, `${formatRequestId(ids[0] ?? 0)}.gz`);
    mkdirSync(elsewhere);
    writeFileSync(secret, 'secret');
    symlinkSync(elsewhere, folder);
    await keep(1);
    await keep(2);
    await bodies.sweep();
    await expect(read(0)).rejects.toThrow('is not a folder of gw');
    expect(readdirSync(elsewhere)).toHaveLength(1);
    expect(warnings).toEqual([
      `the bodies of requests are not kept (requests.keep_bodies): ${folder} is not a folder of gw's. Remove it`,
    ]);
    await removeBodies(folder);
    expect(readFileSync(secret, 'utf8')).toBe('secret');
    rmSync(folder);
    // A link in a file's place is replaced, and not read.
    mkdirSync(folder);
    symlinkSync(secret, join(folder, `${formatRequestId(ids[0] ?? 0)}.gz`));
    await expect(read(0)).rejects.toThrow('ELOOP');
    await keep(0);
    expect(await read(0)).toBe('{"a":"é"}');
    expect([readFileSync(secret, 'utf8'), statSync(folder).mode & 0o777]).toEqual(['secret', 0o700]);
  });

  test('survives a disk that takes nothing, and goes on when it does again', async () => {
    const { bodies, folder, warnings, keep, read } = await store();
    // As root, no right is refused; a file in the folder's place stands for any failed write.
    writeFileSync(folder, '');
    await keep(0);
    await keep(1);
    await bodies.sweep();
    await keep(1);
    expect(warnings).toHaveLength(1);
    rmSync(folder);
    await keep(2);
    expect(await read(2)).toBe('{"a":"é"}');
  });

  test('does not unpack a file without end', async () => {
    const { folder, ids, keep, read } = await store();
    await keep(1);
    writeFileSync(
      join(folder, `${formatRequestId(ids[0] ?? 0)}.gz`),
      gzipSync(Buffer.alloc(MAX_BODIES_BYTES * 1.1), { level: 1 }),
    );
    await expect(read(0)).rejects.toThrow();
  });
});
