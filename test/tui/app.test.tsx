import { setImmediate } from 'node:timers/promises';
import { cleanup, render } from 'ink-testing-library';
import { afterEach, describe, expect, test } from 'vitest';
import type { DashboardReading } from '../../src/operations/reader.ts';
import type { UsageViewRow } from '../../src/operations/schemas/usage.ts';
import { App } from '../../src/tui/app.tsx';
import { type Block, textRows } from '../../src/tui/frame.ts';
import type { Source } from '../../src/tui/source.ts';
import type { Command } from '../../src/tui/state/dialog.ts';
import type { Size } from '../../src/tui/state/layout.ts';
import type { AgentView, DaemonView } from '../../src/tui/state/state.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import {
  LOOK,
  NOW,
  rowAt,
  sampleData,
  sampleRequest,
  sampleTeam,
  sampleTeamUsage,
} from './support/sample.ts';

afterEach(cleanup);

/** A row of the usage of a session. */
const sessionRow = (session: string, i: number): UsageViewRow => ({
  session,
  requests: i + 1,
  blocked_requests: 0,
  failed_requests: 0,
  unpriced_requests: 0,
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  saved_tokens: 0,
  cost_usd: 3 - i,
  saved_usd: 0,
  missed_tokens: 0,
  missed_usd: 0,
  cost_nano_usd: (3 - i) * 1e9,
  saved_nano_usd: 0,
  missed_nano_usd: 0,
  replayed_requests: 0,
});

/** Starts the dashboard on a virtual clock, with a source that the test controls. */
async function started({ readonly = false } = {}) {
  const clock = createVirtualClock(NOW);
  const performed: Command[] = [];
  const copied: string[] = [];
  const remembered: unknown[] = [];
  const resizes = new Set<() => void>();
  const world = {
    data: { ...sampleData(), running: [] as DashboardReading['running'], blocked: [] },
    daemon: { kind: 'running', address: 'localhost:4747', pid: 8_123, startedAt: NOW } as DaemonView,
    agents: [] as AgentView[],
    size: { columns: 100, rows: 26 } as Size,
    written: true,
    reads: 0,
    fault: undefined as Error | undefined,
    sessions: ['thread-1', 'thread-2', 'unknown'].map(sessionRow),
    asked: [] as string[],
    team: sampleTeam({ name: null }),
    teamReads: 0,
    teamFault: undefined as Error | undefined,
  };
  const source: Source = {
    changed() {
      const { written } = world;
      world.written = false;
      return written;
    },
    async read({ window, filter, now }) {
      world.reads++;
      if (world.fault) throw world.fault;
      const requests = world.data.requests.filter(
        ({ outcome }) => filter.kind === 'all' || outcome === filter.kind,
      );
      return { ...world.data, window, requests, now };
    },
    request: async (id) => sampleRequest({ id }),
    agents: async () => world.agents,
    team: async () => world.team,
    async teamUsage({ groupBy }) {
      world.teamReads++;
      if (world.teamFault) throw world.teamFault;
      return sampleTeamUsage(groupBy);
    },
    sessionsOf: async () => world.sessions,
    requestsOf: async (budget, session) => {
      world.asked.push(`${budget.id} ${session}`);
      return [sampleRequest({ model: 'first-model' }), sampleRequest({ model: 'second-model' })];
    },
    daemon: async () => world.daemon,
    remember: (view) => void remembered.push(view),
    async perform(command) {
      performed.push(command);
      if (command.kind === 'revoke_key') throw new Error('no live key with id 1');
      return { message: 'It is done.', ...(command.kind === 'create_key' ? { secret: 'sk-gw-secret' } : {}) };
    },
  };
  const frames: string[] = [];
  const surface = {
    paint: (blocks: readonly Block[]) => void frames.push(textRows(blocks).join('\n')),
    size: () => world.size,
    onResize(listener: () => void) {
      resizes.add(listener);
      return () => resizes.delete(listener);
    },
    copy: (text: string) => void copied.push(text),
  };
  const props = { source, surface, clock, look: LOOK, version: '0.1.0', baseUrl: 'http://localhost:4747/v1' };
  const { stdin } = render(<App {...props} readonly={readonly} />);
  const settle = async () => {
    for (let i = 0; i < 4; i++) await setImmediate();
  };
  await settle();
  return {
    world,
    async advance(ms: number) {
      await clock.advance(ms);
      await settle();
    },
    performed,
    copied,
    remembered,
    frames,
    frame: () => frames.at(-1) ?? '',
    async press(...keys: string[]) {
      for (const key of keys) {
        stdin.write(key);
        await settle();
      }
    },
    async resize(size: Size) {
      world.size = size;
      for (const listener of resizes) listener();
      await settle();
    },
  };
}

describe('the running dashboard', () => {
  test('shows its data at once', async () => {
    const { frame } = await started();
    expect(frame()).toContain('running localhost:4747');
    expect(frame()).toContain('X ci/monthly');
  });

  test('reads and draws nothing until a write or the next minute', async () => {
    const { world, advance, frames } = await started();
    const drawn = frames.length;
    await advance(48_000);
    expect([frames.length, world.reads]).toEqual([drawn, 1]);
    await advance(2_000);
    expect(world.reads).toBe(2);
  });

  test('counts the seconds of what runs, and asks the database no more often', async () => {
    const { world, advance, frame } = await started();
    world.data.running = sampleData().running;
    world.written = true;
    await advance(1_000);
    expect(frame()).toMatch(/42s +~\$0\.031 +58 tok\/s anthropic\/claude-sonnet-4/);
    await advance(5_000);
    expect(frame()).toContain('47s ');
    expect(world.reads).toBe(2);
  });

  test('reads the mouse, and remembers what it changed', async () => {
    const { press, frame, remembered } = await started();
    await press('\u001b[<0;5;3M');
    expect(frame()).toMatch(/^>X ci\/monthly/m);
    await press('z', '\u001b[<65;5;3M\u001b[<65;5;3m');
    expect(frame()).toMatch(/^> {2}team-web\/daily/m);
    expect(remembered).toMatchObject([{ focus: 'budgets', zoomed: false }, { zoomed: true }]);
  });

  test('shows a write within a second', async () => {
    const { world, advance, frame } = await started();
    world.data.requests.unshift(rowAt(-1, { model: 'o4-mini' }));
    world.written = true;
    expect(frame()).not.toContain('o4-mini');
    await advance(1_000);
    expect(frame()).toContain('o4-mini');
  });

  test('does not update while paused, and catches up after that', async () => {
    const { world, advance, frame, press } = await started();
    await press('p');
    expect(frame()).toContain('PAUSED');
    world.data.requests.unshift(rowAt(-1, { model: 'o4-mini' }));
    world.written = true;
    await advance(70_000);
    expect(frame()).not.toContain('o4-mini');
    await press('p');
    expect(frame()).toContain('o4-mini');
  });

  test('shows within three seconds that the daemon is gone', async () => {
    const { world, advance, frame } = await started();
    world.daemon = { kind: 'stopped' };
    await advance(3_000);
    expect(frame()).toContain('X STOPPED');
    expect(frame()).toContain('14:02:09');
  });

  test('shows the team to members alone, and asks its database only while it shows it', async () => {
    const { world, advance, frame, press } = await started();
    expect(frame()).not.toContain('t team');
    await press('t');
    expect(frame()).toContain('belongs to no team');
    world.team = sampleTeam();
    await press('k');
    await advance(60_000);
    expect(frame()).toContain('t team');
    expect(world.teamReads).toBe(0);
    await press('t');
    expect(frame()).toMatch(
      /TEAM acme: gateway 3, laptop[\s\S]*synced at[\s\S]*@team\/daily +\$18\.75 +\$50\.00 +\$31\.25 +\$4\.50/,
    );
    expect(frame()).toMatch(/GATEWAYS TODAY.*MODELS TODAY[\s\S]*ci-7 \(ann\).*openai\/gpt-4\.1 /);
    await advance(29_000);
    expect(world.teamReads).toBe(2);
    world.teamFault = new Error('connection refused');
    await advance(2_000);
    expect(frame()).toMatch(
      /X PostgreSQL not reachable since 14:03, usage as of[\s\S]*connection refused[\s\S]*ci-7/,
    );
    world.teamFault = undefined;
    await advance(30_000);
    expect(frame()).not.toContain('not reachable');
    const { teamReads } = world;
    await press('t');
    expect(frame()).toContain('BUDGETS');
    await advance(90_000);
    expect(world.teamReads).toBe(teamReads);
  });

  test('names the connected agents, and those whose requests went around gw', async () => {
    const { world, advance, frame, resize } = await started();
    await resize({ columns: 120, rows: 26 });
    world.agents = [
      { name: 'claude', bypassed: 0 },
      { name: 'codex', bypassed: 0 },
    ];
    await advance(60_000);
    expect(frame()).toContain('agents: claude, codex');
    world.agents = [
      { name: 'claude', bypassed: 0 },
      { name: 'codex', bypassed: 3 },
    ];
    await advance(60_000);
    expect(frame()).toContain('! 3 requests of codex went around gw: gw coverage');
  });

  test('reports an unreadable database, and recovers', async () => {
    const { world, advance, frame } = await started();
    world.fault = new Error('disk I/O error');
    world.written = true;
    await advance(1_000);
    expect(frame()).toContain('cannot read the database: disk I/O error');
    world.fault = undefined;
    await advance(1_000);
    expect(frame()).not.toContain('cannot read');
  });

  test('filters at once', async () => {
    const { frame, press } = await started();
    await press('f');
    expect(frame()).toContain('REQUESTS (blocked)');
    expect(frame()).not.toContain('claude-sonnet-4     529');
  });

  test('handles keys that arrive in one chunk one by one', async () => {
    const { frame, press } = await started();
    await press('/gpt\r');
    expect(frame()).toContain('REQUESTS (all "gpt")');
    await press('jj\u001b[A');
    expect(frame()).toMatch(/^>/m);
  });

  test('follows the size of the terminal', async () => {
    const { frame, resize } = await started();
    await resize({ columns: 50, rows: 12 });
    expect(frame().split('\n')).toHaveLength(11);
    await resize({ columns: 30, rows: 5 });
    expect(frame()).toContain('too small');
  });

  test('executes a confirmed command, shows the result, and copies a new key', async () => {
    const { frame, press, performed, copied } = await started();
    await press('n', '\r', 'y');
    expect(performed).toEqual([{ kind: 'create_key', project: 'agents' }]);
    expect(frame()).toContain('sk-gw-secret');
    await press('c', '\r');
    expect(copied).toEqual(['sk-gw-secret']);
    expect(frame()).not.toContain('sk-gw-secret');
    await press('x', '\r', 'y');
    expect(frame()).toContain('! no live key with id 1');
  });

  test('goes from a budget to its sessions, to their requests and to one request, and back', async () => {
    const { world, press, frame } = await started();
    await press('1', 'd');
    expect(frame()).toMatch(/SESSIONS of ci\/monthly: \$/);
    expect(frame()).toMatch(/>\$3\.00 +1 request +thread-1/);
    await press('j', 'j');
    expect(frame()).toMatch(/>\$1\.00 +3 requests +without a session/);
    await press('\r');
    expect(world.asked).toEqual([]);
    await press('k', '\r');
    expect(world.asked).toEqual(['ci/monthly thread-2']);
    expect(frame()).toContain('REQUESTS of session thread-2');
    await press('j');
    expect(frame()).toMatch(/>.*second-model/);
    await press('\r');
    expect(frame()).toMatch(/REQUEST .*\n.*second-model|second-model/s);
    expect(frame()).not.toContain('first-model');
    await press('\u001b');
    expect(frame()).toContain('first-model');
    await press('\u001b');
    expect(frame()).toContain('SESSIONS of');
    await press('\u001b');
    expect(frame()).toContain('BUDGETS');
  });

  test('copies an id', async () => {
    const { press, copied } = await started();
    await press('c');
    expect(copied).toEqual([expect.stringMatching(/^req_/)]);
  });
});

describe('the input', () => {
  const answer = '\u001b]11;rgb:1b1b/bbbb/1f1f\u001b\\';

  test('takes a late answer of the terminal, whole or in pieces, for no keys', async () => {
    const { press, frame } = await started();
    const before = frame();
    await press(
      answer,
      answer.slice(0, 9),
      answer.slice(9, 14),
      answer.slice(14),
      '\u001b]11;rgb:bb/bb/bb\u0007',
    );
    await press('\u001b[?61;4;6c', '\u001b[1;1R');
    expect(frame()).toBe(before);
    await press('?');
    expect(frame()).toContain('raise the selected budget');
  });

  test('takes pasted text for no keys, except where text is written', async () => {
    const { press, frame, performed } = await started();
    await press('\u001b[200~b99\ryq\u001b[201~');
    expect(frame()).toContain('pasted text is no command');
    await press('/', '\u001b[200~gpt-4.1\u001b[201~');
    expect(frame()).toContain('search: gpt-4.1_');
    await press('\r');
    expect(frame()).toMatch(/REQUESTS \(all "gpt-4\.1"\)/);
    expect(performed).toEqual([]);
  });
});
