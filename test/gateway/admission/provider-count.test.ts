import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { promptOf } from '../../../src/gateway/admission/measure-prompt.ts';
import { scopeOf } from '../../../src/gateway/admission/prompt-scope.ts';
import {
  type CountPlan,
  countBound,
  type PlanParts,
  planCount,
} from '../../../src/gateway/admission/provider-count.ts';
import type { RequestContext } from '../../../src/gateway/context/request-context.ts';
import { countedPrompt } from '../../../src/gateway/learning/remember-prompt.ts';
import { createPromptBases } from '../../../src/gateway/state/prompt-bases.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { type Message, type Provider, requestOf, type Session, trueTokens } from './counting-provider.ts';
import { edited, newSession, providers, type Step, steps } from './edited-sessions.ts';

const RUNS = Number(process.env.GW_FUZZ_RUNS ?? 120);
const MODEL = 'claude-sonnet-4-5';
const TARGET = { provider: { name: 'mine', wire: 'anthropic' }, model: MODEL } as Target;

interface Counted {
  count: number;
  /** What gw adds for the thinking in the prompt. */
  thinking: number;
  bound: number;
}

const saysSomething = ({ role, parts }: Message) => role === 'user' && parts.some(({ is }) => is === 'text');

/** What the endpoint counts: no thinking of earlier turns, and the rest with an error of at most 1 %. */
function countOf(provider: Provider, session: Session, request: number, error: number): number {
  const seen = structuredClone(session);
  const turn = seen.messages.findLastIndex(saysSomething);
  for (const { parts } of seen.messages.slice(0, Math.max(0, turn)))
    for (const part of parts) if (part.is === 'thought') part.thought.tokens = 0;
  return Math.round(trueTokens(provider, seen, request) * (1 + error / 100));
}

/** Seals are at least as long as what they hold where gw saw none of the answers. */
function limitThoughts({ messages }: Session): void {
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.is !== 'thought') continue;
      const { thought } = part;
      thought.tokens = Math.min(thought.tokens, thought.text.length + thought.seal.length);
    }
  }
}

/** Plays a session whose every prompt is counted; the first bound that is below the true tokens, if there is one. */
function underCounted(
  { provider, script, error }: { provider: Provider; script: readonly Step[]; error: number },
  boundOf: (counted: Counted) => number = ({ bound }) => bound,
) {
  let session = newSession();
  for (const [request, step] of script.entries()) {
    session = edited(session, step, request);
    limitThoughts(session);
    const parsed = messagesWire.parse(Buffer.from(JSON.stringify(requestOf(session, MODEL))));
    const prompt = messagesWire.blocksOf?.(parsed);
    if (!prompt) throw new Error('the prompt could not be split');
    const bases = createPromptBases({ monotonic: () => 0 });
    const count = countOf(provider, session, request, error);
    const bound = countBound(count, { prompt, target: TARGET, bases });
    const plain = countBound(count, { prompt: undefined, target: TARGET, bases });
    const found = boundOf({ count, thinking: bound - plain, bound });
    const tokens = trueTokens(provider, session, request);
    if (found < tokens) return { request, count, found, tokens };
  }
  return undefined;
}

const cases = fc.record({
  provider: providers,
  script: steps,
  error: fc.double({ min: -1, max: 1, noNaN: true }),
});

/** A prompt as it is bounded by a count where others were counted before. */
type Bounded = CountPlan & { count: number };

/** Plays a session whose prompts are counted as planned; the first bound that is below the true tokens, if there is one. */
function underPlanned(
  { provider, script, error }: { provider: Provider; script: readonly Step[]; error: number },
  boundOf: (bounded: Bounded) => number = ({ count, boundOf }) => boundOf(count),
) {
  const promptBases = createPromptBases({ monotonic: () => 0 });
  let session = newSession();
  let texts = 0;
  for (const [request, step] of script.entries()) {
    session = edited(session, step, request);
    limitThoughts(session);
    const parsed = messagesWire.parse(Buffer.from(JSON.stringify(requestOf(session, MODEL))));
    const context = { wire: messagesWire, request: parsed, exchange: { request: { headers: {}, url: '' } } };
    const parts = { promptBases, boundTrust: { isTrusted: () => true } } as unknown as PlanParts;
    const plan = planCount(parts, context as RequestContext, ANTHROPIC);
    const tokens = trueTokens(provider, session, request);
    const exact =
      plan.text === undefined ? countOf(provider, session, request, 0) : textTokens(provider, plan.text);
    const count = Math.round(exact * (1 + error / 100));
    const found = boundOf({ ...plan, count });
    if (plan.text !== undefined) texts++;
    if (found < tokens) return { request, step, found, tokens };
    const prompt = promptOf(context as RequestContext);
    const scope = prompt && scopeOf(context as RequestContext, ANTHROPIC, prompt);
    const base = scope && countedPrompt(promptBases, scope, prompt, { tokens, contextTokens: undefined });
    if (base && step.b % 5 > 0) promptBases.remember(scope, base, { served: MODEL, lifetimeMs: 1 });
  }
  counted.texts += texts;
  return undefined;
}

const ANTHROPIC = {
  provider: {
    name: 'anthropic',
    wire: 'anthropic',
    origin: 'https://api.anthropic.com',
    basePath: '',
    authHeaders: [],
  },
  model: MODEL,
} as unknown as Target;
/** How many prompts were bounded by a count of what was new in them. */
const counted = { texts: 0 };

function textTokens({ bytesPerToken, normalizes }: Provider, text: string): number {
  return Math.ceil(Buffer.byteLength(normalizes ? text.normalize('NFKC') : text) / bytesPerToken);
}

describe("the bound by a provider's count", () => {
  test('is never below the true tokens where the count is right to 1 %', {
    timeout: 60_000 + 40 * RUNS,
  }, () => {
    fc.assert(
      fc.property(cases, (each) => {
        expect(underCounted(each)).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
  });

  test.each<[string, (counted: Counted) => number]>([
    ['has no margin', ({ count, thinking }) => count + thinking],
    ['takes it that the thinking is counted', ({ bound, thinking }) => bound - thinking],
  ])('would be too low if it %s', (_what, boundOf) => {
    const { failed } = fc.check(
      fc.property(cases, (each) => underCounted(each, boundOf) === undefined),
      { numRuns: 20 * RUNS, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });

  const keeping = cases.filter(({ provider }) => !provider.rewrites);

  test('is never below the true tokens where only what is new is counted', {
    timeout: 60_000 + 40 * RUNS,
  }, () => {
    counted.texts = 0;
    fc.assert(
      fc.property(keeping, (each) => {
        expect(underPlanned(each)).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
    expect(counted.texts).toBeGreaterThan(RUNS / 10);
  });

  test.each<[string, (bounded: Bounded) => number]>([
    ['takes what is new for nothing', ({ text, boundOf, count }) => boundOf(text === undefined ? count : 0)],
    ['counts a half of it', ({ text, boundOf, count }) => boundOf(text === undefined ? count : count / 2)],
  ])('would be too low if it %s', (_what, boundOf) => {
    const { failed } = fc.check(
      fc.property(keeping, (each) => underPlanned(each, boundOf) === undefined),
      { numRuns: 20 * RUNS, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });

  test.each([
    ['openai', 'openai', 10_700],
    ['relay', 'openai', 11_000],
    ['anthropic', 'anthropic', 11_000],
  ] as const)('allows %s, by the wire of %s, as much as it says of its counts', (name, wire, bound) => {
    const target = { ...TARGET, provider: { ...TARGET.provider, name, wire } };
    const bases = createPromptBases({ monotonic: () => 0 });
    expect(countBound(10_000, { prompt: undefined, target, bases })).toBe(bound);
  });
});
