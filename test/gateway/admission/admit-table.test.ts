import { test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { admit, FallsBack, TargetFull } from '../../../src/gateway/admission/admit.ts';
import { readmit, readmitTranslated } from '../../../src/gateway/admission/readmit.ts';
import { ClientGone } from '../../../src/gateway/context/exchange.ts';
import type { Gateway } from '../../../src/gateway/context/gateway.ts';
import type { Admission } from '../../../src/store/ledger/admission.ts';
import type { Offer } from '../../../src/store/ledger/offer.ts';
import type { Standing } from '../../../src/store/ledger/standing.ts';
import { expectFrozen, type Row } from '../../support/frozen.ts';
import type { GatewayParts } from '../../support/gateway-parts.ts';
import { opened } from './quoted.ts';

const NANO = 1_000_000_000;
const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });
const STANDING = {
  budget: {
    ...{ id: 1, projectId: 1, projectName: 'shop', period: 'daily', capNanoUsd: NANO, alertPercent: 80 },
    ...{ repo: '', scopeKind: '', scopeValue: '', windowMs: null },
  },
  posted: NANO / 2,
  pending: 0,
  resetsAt: Date.UTC(2026, 0, 2),
} as unknown as Standing;
const UNREACHABLE = {
  ...STANDING,
  team: {
    capNanoUsd: NANO,
    unspentNanoUsd: NANO,
    reserveNanoUsd: 0,
    unreachableSince: 5_000,
    isCutOff: true,
    frozen: false,
  },
} as unknown as Standing;

type Answer = { kind: string } & Record<string, unknown>;
const held = (amount: number, remaining: number | null): Answer => ({
  kind: 'held',
  amount,
  remaining,
  allowed: false,
  spentOfCap: 0.5,
});

interface Case {
  model?: string;
  body?: object;
  /** What the ledger says, one after the other. */
  says: Answer[];
  /** The count of the provider. */
  counts?: number;
  isGone?: boolean;
  isSearched?: boolean;
  runaway?: string;
  ways?: { hasOthers?: boolean };
  /** Milliseconds that the request has been there, and that its client waits. */
  waited?: number;
  isEnded?: boolean;
  isFull?: boolean;
}

/** An answer that may be cut shorter than it is by default. */
const STRUCTURED = { response_format: { type: 'json_object' }, max_tokens: 9_000 };

const CASES: Record<string, Case> = {
  held: { says: [held(5, 10)] },
  'held without a budget': { says: [held(5, null)] },
  'held, cut': { says: [{ ...held(5, 10), fit: { amount: 5, outputTokens: 765, calls: undefined } }] },
  'held, cut, without a budget': { says: [{ ...held(5, null), fit: { amount: 5, outputTokens: 765 } }] },
  'held on the shortest rung': { body: STRUCTURED, says: [{ ...held(5, 10), isShorter: true }] },
  'refused on the shortest rung': {
    ...{ body: STRUCTURED, says: [{ kind: 'blocked', standing: STANDING, isShorter: true }] },
  },
  'held, with other targets': { says: [held(5, 10)], ways: { hasOthers: true } },
  'held by its bytes': { model: 'mock/test-model', says: [held(5, 10)] },
  'counted, then held': { says: [{ kind: 'needs_count' }, held(5, 10)] },
  'counted by the provider, then held': {
    ...{ counts: 10, says: [{ kind: 'needs_count' }, { kind: 'needs_count' }, held(5, 10)] },
  },
  'counted by the provider, no less': {
    ...{ counts: 9_000, says: [{ kind: 'needs_count' }, { kind: 'needs_count' }, held(5, 10)] },
  },
  'never counted': { says: [{ kind: 'needs_count' }, { kind: 'needs_count' }, held(5, 10)] },
  'gone while it was counted': { isGone: true, says: [{ kind: 'needs_count' }] },
  elsewhere: { says: [{ kind: 'elsewhere' }] },
  'a cheaper model': { says: [{ kind: 'fallback', standings: [STANDING] }] },
  unpriced: { model: 'mock/other', says: [{ kind: 'unpriced', standing: STANDING }] },
  blocked: { says: [{ kind: 'blocked', standing: STANDING }] },
  'a runaway': { runaway: 'it repeats itself', says: [{ kind: 'runaway', standing: STANDING }] },
  'a runaway no more': { says: [{ kind: 'runaway', standing: STANDING }] },
  unreachable: { says: [{ kind: 'unreachable', standing: UNREACHABLE }] },
  'no room in time': { says: [{ kind: 'wait', standing: STANDING }] },
  'no room in time, and gone': { isGone: true, says: [{ kind: 'wait', standing: STANDING }] },
  'no room in time, the team gone': { says: [{ kind: 'wait', standing: UNREACHABLE }] },
  'no room in time, both gone': { isGone: true, says: [{ kind: 'wait', standing: UNREACHABLE }] },
  'of a repository': { isSearched: true, says: [held(5, 10)] },
  'asked, then held': {
    says: [{ kind: 'ask' }, { kind: 'ask' }, { kind: 'wait', standing: STANDING }, held(5, 10)],
  },
  'asked, then refused': { says: [{ kind: 'ask' }, { kind: 'blocked', standing: STANDING }] },
  'asked, and gone': { isGone: true, says: [{ kind: 'ask' }] },
  'asked, and its project paused': { says: [{ kind: 'ask' }, { kind: 'shut' }] },
  'asked late': { waited: 5_000, says: [{ kind: 'ask' }, held(5, 10)] },
  'asked with many others': { isFull: true, says: [held(5, 10)] },
  'asked at the end': { isEnded: true, says: [held(5, 10)] },
};

/** Admits a request of a ledger that answers as it is told; what it was asked, and what came of it. */
async function played(parts: GatewayParts, { model = 'openai/gpt-4o', body = {}, says, ...given }: Case) {
  const context = parts.contextOf({ model, messages: [{ role: 'user', content: 'Hi there' }], ...body });
  const target = await parts.targetOf(model);
  const { exchange } = context;
  let isGone = false;
  Object.defineProperty(exchange, 'gone', { get: () => isGone });
  Object.assign(exchange, { startedAt: parts.clock.monotonic() - (given.waited ?? 0) });
  Object.assign(context, {
    origin: { process: 'p', repo: 'r', search: given.isSearched ? Promise.resolve() : undefined },
  });
  const log: unknown[] = [];
  const answers = [...says];
  let version = 0;
  const answer = async (how: string, asked: Admission) => {
    isGone = given.isGone ?? false;
    log.push([how, ...figuresOf(asked)]);
    version++;
    const { isShorter, ...said } = answers.shift() ?? { kind: 'blocked', standing: STANDING };
    return isShorter ? { ...said, offer: asked.offer.shorter?.() } : said;
  };
  const { gateway } = parts;
  const fake = {
    ...gateway,
    promptBases: {
      ...gateway.promptBases,
      get version() {
        return version;
      },
    },
    budgetScopes: () => ({ ...gateway.budgetScopes(), repos: new Set([context.project.id]) }),
    attribution: { searched: async () => void log.push('searched') },
    runaways: { of: () => given.runaway && { message: given.runaway } },
    tiers: { setSpentOfCap: (...args: unknown[]) => void log.push(args) },
    inputCounter: { ask: async () => given.counts, mayAsk: () => true, recall: () => undefined },
    queue: { admit: (asked: Admission) => answer('admit', asked), wake: () => void log.push('woken') },
    approvals: {
      ...{ isEnded: given.isEnded ?? false, isFull: given.isFull ?? false, limitOf: () => 60_000 },
      join: () => () => void log.push('left'),
      nextLook: async () => {},
      noteGone: (...args: unknown[]) => void log.push(['gone', ...args]),
    },
    authenticator: { forget: () => void log.push('forgotten'), authenticate: () => {} },
    ledger: {
      look: (asked: Admission) => answer('look', asked),
      endAsk: async () => void log.push('ended'),
    },
  } as unknown as Gateway;
  return {
    log,
    outcome: await outcomeOf(() => admit(fake, context, target, gateway.calendar(), given.ways)),
  };
}

/** What the ledger is asked for, and what it may ask back. */
function figuresOf(given: Admission): unknown[] {
  const { isFinal, hasOthers, stream, endpoint, askedModel, origin, requote, runaway } = given;
  const offer = given.offer as Required<Offer>;
  const { amount, least, whole, small, unpriced } = offer;
  const fitted = offer.fitInto(5_000_000) ?? offer;
  const back = [offer.leastIfCounted(false), offer.isWorthCounting(fitted, 5_000_000), runaway?.()];
  const asking = offer.asking && [offer.asking.needed(), offer.asking.expiresAt() - Date.UTC(2026, 0, 1, 12)];
  const { status, outcome } = offer.blockedRecord();
  const shorter = offer.shorter();
  const fit = (shorter ?? offer).fitInto?.(8_000_000);
  return [
    `${amount} ${least} ${whole} ${small}`,
    [unpriced, isFinal, hasOthers, stream, endpoint, askedModel, origin?.repo].join(),
    ...[
      back,
      asking,
      status,
      outcome,
      shorter !== undefined,
      fit?.amount,
      requote?.() !== undefined,
      requote?.() !== undefined,
      (shorter ?? offer).needOf?.({ ...fit, amount: 7 })?.outputTokens,
    ],
  ];
}

async function outcomeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    const admitted = (await work()) as { quote?: { inputTokens: number; inputBound: string } } | undefined;
    if (typeof admitted !== 'object') return admitted ?? 'nothing';
    const { quote, ...rest } = admitted;
    return { ...rest, by: quote && `${quote.inputBound} ${quote.inputTokens}` };
  } catch (error) {
    if (error instanceof GwError) return `${error.status} ${error.code} ${error.message.slice(0, 60)}`;
    if (error instanceof ClientGone) return 'the client is gone';
    if (error instanceof TargetFull) return 'full';
    if (error instanceof FallsBack) return `falls back ${error.standings.length}`;
    throw error;
  }
}

const REPLACED: Record<
  string,
  { says: Answer[]; model?: string; named?: boolean; spent?: number; first?: string }
> = {
  held: { says: [held(900, 10)], spent: 200 },
  'without room': {
    says: [
      { kind: 'refused', standing: STANDING },
      { kind: 'refused', standing: STANDING },
    ],
  },
  'without room by its bytes': { says: [{ kind: 'refused', standing: STANDING }, held(900, 10)] },
  'without room, and nothing to count': {
    model: 'mock/test-model',
    says: [{ kind: 'refused', standing: STANDING }],
  },
  'without a hold': { says: [{ kind: 'resolved_before' }] },
  'too dear': { says: [], first: 'openai/gpt-4o-mini' },
  'dear, and named': { says: [held(900, 10)], first: 'openai/gpt-4o-mini', named: true },
  'dear enough by what was spent': { says: [], spent: 10 * NANO },
  'without a price': { says: [], model: 'mock/other', first: 'openai/gpt-4o' },
  'without a price, like the first': { says: [held(900, 10)], model: 'mock/other', first: 'mock/another' },
};

async function replaced(parts: GatewayParts, given: (typeof REPLACED)[string], isTranslated: boolean) {
  const { model = 'openai/gpt-4o', named = false, spent = 0, first = model, says } = given;
  const context = parts.contextOf({ model, messages: [{ role: 'user', content: 'Hi' }] });
  const answers = [...says];
  const log: unknown[] = [];
  const ledger = {
    readmit: async ({ amount, least, unpriced, small, ...asked }: Record<string, unknown>) => {
      log.push([amount, least, unpriced, small, asked.spent, asked.model, asked.endpoint].join(' '));
      log.push((asked.needOf as Required<Offer>['needOf'])({ amount: 7 })?.outputTokens);
      return answers.shift() ?? { kind: 'refused', standing: STANDING };
    },
  };
  const gateway = {
    ...parts.gateway,
    ledger,
    queue: { wake: () => void log.push('woken') },
  } as unknown as Gateway;
  const target = { ...(await parts.targetOf(model)), named };
  const attempt = { context, target, first: await parts.targetOf(first), spent };
  const outcome = await outcomeOf(async () =>
    isTranslated ? readmitTranslated(gateway, attempt) : readmit(gateway, attempt),
  );
  return { log, outcome };
}

/** The head of the request that the ledger is asked for with the hold of a later attempt. */
async function headAgain(parts: GatewayParts, session: { agent: string; sessionId: string }) {
  const target = await parts.targetOf('openai/gpt-4o');
  const context = parts.contextOf({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }] });
  Object.assign(context, { session, origin: { process: 'node', repo: 'shop' } });
  let head: unknown;
  const ledger = {
    readmit: async ({ id: _id, amount: _amount, small: _small, ...asked }: Record<string, unknown>) => {
      head ??= asked;
      return held(900, 10);
    },
  };
  const gateway = { ...parts.gateway, ledger, queue: { wake: () => {} } } as unknown as Gateway;
  await readmit(gateway, { context, target, first: target, spent: 0 });
  return head;
}

test('what the ledger is asked for a request, and what comes of its answers', async () => {
  const parts = await opened();
  const replacing = (isTranslated: boolean) =>
    Object.entries(REPLACED).map(
      ([name, each]): Row => ({
        name: `${isTranslated ? 'translated' : 'again'}, ${name}`,
        outcome: () => replaced(parts, each, isTranslated),
      }),
    );
  const limits = [
    {},
    { max_tokens: 20_000 },
    { max_tokens: 500, n: 2 },
    { stream: true, response_format: { type: 'json_object' }, max_tokens: 9_000 },
  ];
  await expectFrozen(import.meta.dirname, 'admissions', [
    {
      name: 'blocked',
      outcome: () => played(parts, CASES.blocked as Case),
      variations: Object.entries(CASES).map(([name, each]) => ({ name, outcome: () => played(parts, each) })),
    },
    ...limits.map(
      (body): Row => ({
        name: `held, ${JSON.stringify(body)}`,
        outcome: () => played(parts, { body, says: [held(5, 10)] }),
      }),
    ),
    row('again, of a session', () => headAgain(parts, { agent: 'codex', sessionId: 's' })),
    row('again, of no session', () => headAgain(parts, { agent: '', sessionId: '' })),
    ...replacing(false),
    ...replacing(true),
  ]);
});
