import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAlign, editBound, type MeasuredPrompt } from '../../../src/gateway/admission/edit-bound.ts';
import { measurePrompt } from '../../../src/gateway/admission/measure-prompt.ts';
import { countedPrompt } from '../../../src/gateway/learning/remember-prompt.ts';
import { createPromptBases } from '../../../src/gateway/state/prompt-bases.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import type { PromptBlocks } from '../../../src/wire/request/prompt-block.ts';
import { sealOf } from '../../../src/wire/request/seals.ts';
import { type Provider, requestOf, type Session, trueTokens } from './counting-provider.ts';
import { edited, newSession, providers, type Step, steps } from './edited-sessions.ts';

const RUNS = Number(process.env.GW_FUZZ_RUNS ?? 300);
const MODEL = 'claude-sonnet-4-5';

/** A way to bound a prompt that leaves out one of the rules. */
interface Variant {
  /** Blocks as the bases know them. */
  split?: (prompt: PromptBlocks) => PromptBlocks;
  measure?: (measured: MeasuredPrompt) => MeasuredPrompt;
  /** The bound, if it isn't by blocks. */
  bound?: (bytes: number, last: { bytes: number; tokens: number }) => number;
}

/** Plays a session; the first request whose bound is below its true tokens, if there is one. */
function underBound(provider: Provider, script: readonly Step[], variant: Variant = {}) {
  const bases = createPromptBases({ monotonic: () => 0 });
  const target = { provider: { name: provider.rewrites ? 'mine' : 'anthropic' }, model: MODEL } as Target;
  let session = newSession();
  let last: { bytes: number; tokens: number } | undefined;
  let bounded = 0;
  for (const [request, step] of script.entries()) {
    session = edited(session, step, request);
    rememberSeals(bases, session);
    const parsed = messagesWire.parse(Buffer.from(JSON.stringify(requestOf(session, MODEL))));
    const whole = messagesWire.blocksOf?.(parsed);
    if (!whole) throw new Error('the prompt could not be split');
    const prompt = variant.split?.(whole) ?? whole;
    const scope = { model: MODEL, key: prompt.key };
    const measured = measurePrompt(prompt, target, bases);
    const found = editBound(variant.measure?.(measured) ?? measured, bases.find(scope))?.tokens;
    // What isn't measured, as it can't be the least, changes no bound.
    if (!variant.measure)
      expect(editBound({ ...measured, leastTokens: () => 0 }, bases.find(scope))?.tokens).toBe(found);
    const bound = variant.bound && last ? variant.bound(parsed.bytes.length, last) : found;
    const tokens = trueTokens(provider, session, request);
    if (bound !== undefined) bounded++;
    if (bound !== undefined && bound < tokens) return { request, step, bound, tokens, bounded };
    last = { bytes: parsed.bytes.length, tokens };
    const base = countedPrompt(bases, scope, prompt, { tokens, contextTokens: undefined });
    if (base && step.b % 5 > 0) bases.remember(scope, base, { served: MODEL, lifetimeMs: 1 });
  }
  return undefined;
}

/** Of one half of the answers gw has seen what their thoughts were billed. The others' are at least a byte a token. */
function rememberSeals(bases: ReturnType<typeof createPromptBases>, { messages }: Session): void {
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.is !== 'thought') continue;
      const { text, seal: signature, tokens } = part.thought;
      const seal = sealOf({ type: 'thinking', thinking: text, signature });
      if (!seal) continue;
      if (tokens % 2 === 0 || tokens > seal.bytes) bases.rememberSeal(seal.id, tokens);
    }
  }
}

describe('the edit bound', () => {
  test('is never below the true tokens of an edited session', { timeout: 60_000 + 100 * RUNS }, () => {
    fc.assert(
      fc.property(providers, steps, (provider, script) => {
        expect(underBound(provider, script)).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
  });

  test.each<[string, Variant]>([
    [
      'counts four bytes as a token',
      { measure: (measured) => ({ ...measured, tokensOf: (at) => Math.ceil(measured.tokensOf(at) / 4) }) },
    ],
    [
      'adds the bytes that a session has grown by',
      { bound: (bytes, last) => last.tokens + Math.max(0, bytes - last.bytes) },
    ],
    [
      'takes a changed tool for the same',
      {
        split: (prompt) => ({
          ...prompt,
          blocks: prompt.blocks.map((block) =>
            block.role === 'tool' ? { ...block, id: `${block.name}` } : block,
          ),
        }),
      },
    ],
    [
      'counts a reference by its own bytes',
      { measure: (measured) => ({ ...measured, definitionTokens: () => 0 }) },
    ],
    [
      'takes it that what is left out only lowers the count',
      {
        measure: (measured) => ({
          ...measured,
          tokensOf: (at) =>
            measured.blocks[at]?.kind === 'reasoning' && measured.numbers[at] !== 0
              ? 0
              : measured.tokensOf(at),
        }),
      },
    ],
  ])('would be too low if it %s', (_what, variant) => {
    const { failed } = fc.check(
      fc.property(
        providers,
        steps,
        (provider, script) => underBound(provider, script, variant) === undefined,
      ),
      { numRuns: 20 * RUNS, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });
});

const align = (prompt: number[], base: number[]) => [
  ...createAlign(Int32Array.from(prompt))(Int32Array.from(base)),
];

test.each<[string, number[], number[], number[]]>([
  ['the same', [1, 2, 3], [1, 2, 3], [0, 1, 2]],
  ['an appended tail', [1, 2, 3, 4], [1, 2], [0, 1, -1, -1]],
  ['a replaced first block and a tail', [9, 2, 3, 4], [1, 2, 3], [-1, 1, 2, -1]],
  ['an inserted block', [1, 9, 2, 3], [1, 2, 3], [0, -1, 1, 2]],
  ['a removed block', [1, 3, 4], [1, 2, 3, 4], [0, 2, 3]],
  ['several edits', [1, 8, 3, 4, 9, 6, 7], [1, 2, 3, 4, 5, 5, 6], [0, -1, 2, 3, -1, 6, -1]],
  ['repeated blocks', [5, 5, 5, 1], [5, 5, 1], [0, 1, -1, 2]],
  ['unknown blocks', [0, 0, 1], [2, 1], [-1, -1, 1]],
  ['nothing in common', [1, 2], [3], [-1, -1]],
])('aligns %s', (_what, prompt, base, places) => {
  expect(align(prompt, base)).toEqual(places);
});

test('aligns equal blocks only, each once and in order', () => {
  const list = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 40 });
  fc.assert(
    fc.property(list, fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 40 }), (prompt, base) => {
      const places = align(prompt, base);
      expect(places).toHaveLength(prompt.length);
      let last = -1;
      places.forEach((place, i) => {
        if (place < 0) return;
        expect(place).toBeGreaterThan(last);
        expect(base[place]).toBe(prompt[i]);
        last = place;
      });
    }),
    { numRuns: 2_000 },
  );
});
