import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countBound } from '../../../src/gateway/admission/provider-count.ts';
import { createPromptBases } from '../../../src/gateway/state/prompt-bases.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { type Message, type Provider, requestOf, type Session, trueTokens } from './counting-provider.ts';
import { edited, newSession, providers, type Step, steps } from './edited-sessions.ts';

const RUNS = Number(process.env.GW_FUZZ_RUNS ?? 300);
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

/** Plays a session whose every prompt is counted; the first bound that is below the true tokens, if there is one. */
function underCounted(
  { provider, script, error }: { provider: Provider; script: readonly Step[]; error: number },
  boundOf: (counted: Counted) => number = ({ bound }) => bound,
) {
  let session = newSession();
  for (const [request, step] of script.entries()) {
    session = edited(session, step, request);
    // Its seals are at least as long as what they hold: gw saw none of these answers.
    for (const { parts } of session.messages) {
      for (const part of parts) {
        if (part.is !== 'thought') continue;
        const { thought } = part;
        thought.tokens = Math.min(thought.tokens, thought.text.length + thought.seal.length);
      }
    }
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
      { numRuns: RUNS, endOnFailure: true },
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
