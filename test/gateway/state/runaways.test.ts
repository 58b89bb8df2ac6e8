import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRunaways, type Runaways } from '../../../src/gateway/state/runaways.ts';
import { setBudget } from '../../../src/store/budgets/budgets.ts';
import type { RunawayAction } from '../../../src/store/ledger/terms.ts';
import { listRunaways, resumeSession, type SessionKey } from '../../../src/store/runaways/runaways.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  memoryDatabase,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  runs,
  startDaemon,
} from '../../support/simulator.ts';

/** More turns than any session may repeat in a row, also one that was let go on. */
const LONG = 45;

interface Step {
  kind: 'ask' | 'loop' | 'resume' | 'budget';
  projectId: number;
  session: string;
  action: RunawayAction;
  isForEach: boolean;
}

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('ask', 'ask', 'loop', 'resume', 'budget'),
    projectId: fc.constantFrom(1, 2),
    session: fc.constantFrom('s1', 's2'),
    action: fc.constantFrom('block', 'block', 'alert', 'ask'),
    isForEach: fc.boolean(),
  }),
  { minLength: 4, maxLength: 14 },
);

type Mark = (runaways: Runaways, key: SessionKey) => string | undefined;

/** Something wrong on the way of a request, which the property has to notice. */
interface Change {
  mark?: Mark;
  /** Marks are not read again once a session was let go on. */
  keepsMarks?: boolean;
}

const MARK: Mark = (runaways, key) => runaways.of(() => key)?.message;
const ACTIONS: readonly RunawayAction[] = ['alert', 'ask', 'block'];
const nameOf = ({ projectId, session }: Pick<SessionKey, 'projectId' | 'session'>) =>
  `${projectId} ${session}`;

/** Plays requests of two sessions in each of two projects. Nobody answers a budget that asks, so it refuses. */
async function play(drawn: readonly Step[], { mark = MARK, keepsMarks = false }: Change): Promise<void> {
  const db = await memoryDatabase();
  addProjects(db, 2);
  const world = createWorld();
  const { clock, calendar } = world;
  const { ledger, nextId } = startDaemon(db, world, 0);
  const runaways = createRunaways({ db, ledger, now: () => clock.now(), warn: expect.fail });
  /** By project and kind of cap. */
  const actions = new Map<string, RunawayAction>();
  /** The sessions that have run away and were not let go on. */
  const marked = new Set<string>();
  let texts = 0;
  let left = 0;

  /** Asks for a request and, if it may leave, ends it; returns whether it left. */
  async function ask(step: Step, hash = `${texts++}`): Promise<boolean> {
    const { projectId, session } = step;
    const key = { projectId, agent: 'codex', session };
    clock.set(clock.now() + 1_000);
    const id = nextId();
    const client = { projectId, agent: 'codex', session };
    const admitted = ledger.admit(admissionOf(id, 1, { ...client, runaway: () => mark(runaways, key) }));
    ledger.flush();
    const { kind } = await admitted;
    if (kind === 'runaway') return false;
    expect(kind).toBe('held');
    left++;
    const settled = ledger.settle(recordOf(id, { ...client, costNanoUsd: 1 }));
    ledger.flush();
    await settled;
    runaways.note(key, { hash, tool: undefined, inputTokens: 1, costNanoUsd: 1 }, 500);
    ledger.flush();
    return true;
  }

  const strictest = (projectId: number): RunawayAction =>
    ACTIONS.findLast((action) =>
      [`${projectId} all`, `${projectId} each`].some((cap) => actions.get(cap) === action),
    ) ?? 'alert';

  for (const step of drawn) {
    const { kind, projectId, session, action, isForEach } = step;
    const name = nameOf(step);
    const isStopped = marked.has(name) && strictest(projectId) !== 'alert';
    if (kind === 'budget') {
      const project = {
        id: projectId,
        name: `p${projectId}`,
        plan: 'pro',
        createdAt: 0,
        pausedAt: null,
      } as const;
      const scope = isForEach ? ({ kind: 'each', value: 'session' } as const) : undefined;
      const terms = { period: 'daily', capNanoUsd: 1_000_000, scope, runaway: action } as const;
      await setBudget(db, project, terms, { calendar, now: clock.now() });
      actions.set(`${projectId} ${isForEach ? 'each' : 'all'}`, action);
    } else if (kind === 'resume') {
      if (!marked.delete(name)) continue;
      resumeSession(db, session, projectId);
      if (!keepsMarks) runaways.reload();
      ledger.flush();
    } else if (kind === 'ask') expect(await ask(step)).toBe(!isStopped);
    else {
      let turns = 0;
      while (turns < LONG && (await ask(step, 'again'))) turns++;
      if (isStopped) expect(turns).toBe(0);
      else expect(turns < LONG).toBe(strictest(projectId) !== 'alert');
      marked.add(name);
    }
    const listed = listRunaways(db, { now: clock.now() }).map(nameOf);
    expect(listed.sort()).toEqual([...marked].sort());
  }
  // What was refused held nothing, and has no record of an answer.
  expect(db.prepare('SELECT count(*) FROM journal').pluck().get()).toBe(left);
  db.close();
}

const property = (change: Change = {}) => fc.asyncProperty(steps, (drawn) => play(drawn, change));

test(
  'a session that runs away sends nothing more under a budget that blocks, until it is let go on; no other is stopped',
  async () => {
    await fc.assert(property(), runs(0.04));
  },
  PROPERTY_TIMEOUT_MS,
);

test.each<[string, Change]>([
  ['a mark is not looked at', { mark: () => undefined }],
  ['every session is stopped', { mark: () => 'it repeats itself' }],
  [
    'a session of another project is stopped',
    { mark: (all, key) => MARK(all, { ...key, projectId: 3 - key.projectId }) },
  ],
  ['all sessions of a project are stopped', { mark: (all, key) => MARK(all, { ...key, session: 's1' }) }],
  ['a session that was let go on is stopped', { keepsMarks: true }],
])('a gateway in which %s is found out', async (_name, change) => {
  await expect(fc.assert(property(change), { ...runs(0.4), endOnFailure: true })).rejects.toThrow();
});
