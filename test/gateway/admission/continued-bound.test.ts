import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { continuedBound, leastInput, optionsOf } from '../../../src/gateway/admission/input-tokens.ts';
import { blocksOf } from '../../../src/gateway/admission/measure-prompt.ts';
import { scopeOf } from '../../../src/gateway/admission/prompt-scope.ts';
import type { RoutedAttempt } from '../../../src/gateway/attempt/attempt.ts';
import type { Settlement } from '../../../src/gateway/attempt/settle.ts';
import { rememberPrompt } from '../../../src/gateway/learning/remember-prompt.ts';
import {
  createContinuedResponses,
  type StoredResponse,
} from '../../../src/gateway/state/continued-responses.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import { openGatewayParts } from '../../support/gateway-parts.ts';
import { mix } from './counting-provider.ts';

const RUNS = Number(process.env.GW_FUZZ_RUNS ?? 500);
const MODEL = 'gpt-5';

/** A part of what the provider stores: a text, or reasoning that it may leave out. */
interface Item {
  is: 'user' | 'answer' | 'reasoning' | 'result';
  tokens: number;
}

interface Step {
  /** Which of the responses so far is continued; none for the first. */
  from: number;
  user: boolean;
  bytes: number;
  tools: boolean;
  keepsAll: boolean;
  thought: number;
  written: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    from: fc.nat(99),
    user: fc.boolean(),
    bytes: fc.integer({ min: 1, max: 3_000 }),
    tools: fc.boolean(),
    keepsAll: fc.boolean(),
    thought: fc.nat(9_000),
    written: fc.integer({ min: 1, max: 2_000 }),
  }),
  { minLength: 2, maxLength: 12 },
);

const TOOL = { type: 'function', name: 'run', parameters: { type: 'object' } };

function bodyOf({ user, bytes, tools, keepsAll }: Step, previous: string | undefined): object {
  const text = 'é'.repeat(bytes / 2) || 'x';
  const input = user
    ? { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
    : { type: 'function_call_output', call_id: 'call_1', output: text };
  return {
    model: `openai/${MODEL}`,
    ...(previous === undefined ? {} : { previous_response_id: previous }),
    ...(tools ? { tools: [TOOL] } : {}),
    ...(keepsAll ? { reasoning: { context: 'all_turns' } } : {}),
    input: [input],
  };
}

/** What the model reads: reasoning of the running turn alone, unless the request asks for all. */
function tokensOf(items: readonly Item[], { tools, keepsAll }: Step): number {
  const turn = items.findLastIndex(({ is }) => is === 'user');
  const read = items.filter(({ is }, i) => is !== 'reasoning' || keepsAll || i > turn);
  const instructions = (tools ? 2_000 : 0) + (keepsAll ? 900 : 0);
  return read.reduce((sum, { tokens }) => sum + tokens, 3 + instructions);
}

const WHOLE = { outcome: 'ok', flags: 0 } as Settlement;

describe('the bound of a request that continues a response', () => {
  type BoundOf = (parts: { stored: StoredResponse; own: number; bound: number }) => number;

  /** Plays requests of which each continues one before; the first bound below the true tokens, if there is one. */
  function underBound(script: readonly Step[], boundOf: BoundOf = ({ bound }) => bound) {
    const bases = createContinuedResponses({ monotonic: () => 0 });
    const scope = { model: MODEL, key: '' };
    const stored: { items: Item[] }[] = [];
    for (const [at, step] of script.entries()) {
      const from = at === 0 ? undefined : step.from % at;
      const before = from === undefined ? undefined : bases.find(scope, `${from}`);
      const request = responsesWire.parse(
        Buffer.from(JSON.stringify(bodyOf(step, from === undefined ? undefined : `${from}`))),
      );
      const prompt = responsesWire.blocksOf?.(request);
      if (!prompt) throw new Error('the prompt could not be split');
      const own = request.bytes.length + 64 + (step.tools ? 2_500 : 0);
      const around = mix(`${step.bytes}`) % 40;
      const items: Item[] = [
        ...(from === undefined ? [] : (stored[from]?.items ?? [])),
        { is: step.user || at === 0 ? 'user' : 'result', tokens: step.bytes + around },
      ];
      const tokens = tokensOf(items, step);
      if (before) {
        const bound = continuedBound(before, prompt, own) ?? Number.POSITIVE_INFINITY;
        const found = boundOf({ stored: before, own, bound });
        if (found < tokens) return { at, found, tokens };
      }
      items.push({ is: 'reasoning', tokens: step.thought }, { is: 'answer', tokens: step.written });
      stored.push({ items });
      const response: StoredResponse = {
        inputTokens: tokens,
        outputTokens: step.thought + step.written,
        reasoningTokens: (before?.reasoningTokens ?? 0) + step.thought,
        trailingSpace: 0,
        options: optionsOf(prompt),
      };
      bases.remember(scope, `${at}`, response, { served: MODEL, lifetimeMs: 1 });
    }
    return undefined;
  }

  test('is never below the true tokens', () => {
    fc.assert(
      fc.property(steps, (script) => {
        expect(underBound(script)).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
  });

  test.each<[string, BoundOf]>([
    ['leaves out the answer', ({ stored, bound }) => bound - stored.outputTokens],
    ['leaves out what is new', ({ own, bound }) => bound - own],
    [
      'takes it that no reasoning comes back',
      ({ stored: { inputTokens, outputTokens }, own }) => inputTokens + outputTokens + own + 4_000,
    ],
  ])('would be too low if it %s', (_what, boundOf) => {
    const { failed } = fc.check(
      fc.property(steps, (script) => underBound(script, boundOf) === undefined),
      { numRuns: 20 * RUNS, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });
});

describe('a stored response', () => {
  const FIRST = { model: `openai/${MODEL}`, input: 'Hello', tools: [TOOL] };
  const NEXT = { ...FIRST, previous_response_id: 'resp_1', input: 'Go on' };
  const USAGE = { ...NO_USAGE, inputTokens: 5_000, outputTokens: 700, reasoningTokens: 300 };

  async function start(provider = 'openai') {
    const settings = {
      providers: { [provider]: { baseUrl: 'http://127.0.0.1:1/v1', wire: 'openai' as const } },
    };
    const parts = await openGatewayParts({ settings, credentials: { [provider]: 'key' } });
    const { gateway } = parts;
    const rename = (body: object) => ({ ...body, model: `${provider}/${MODEL}` });
    const target = await parts.targetOf(`${provider}/${MODEL}`);
    return {
      ...parts,
      async play(body: object, { id = 'resp_1', model = MODEL, usage = USAGE, ...settlement }: Played = {}) {
        const context = parts.contextOf(rename(body), responsesWire);
        leastInput(gateway, context, target);
        const relay = { isStream: false, unsent: Buffer.from(JSON.stringify({ id, model })) };
        const attempt = { context, target, admitted: {} } as unknown as RoutedAttempt;
        rememberPrompt(gateway, attempt, { relay } as never, { ...WHOLE, usage, ...settlement });
        await new Promise(setImmediate);
      },
      boundOf: (body: object) => leastInput(gateway, parts.contextOf(rename(body), responsesWire), target),
      isKnown(body: object) {
        const context = parts.contextOf(rename(body), responsesWire);
        const prompt = blocksOf(context);
        const scope = prompt && scopeOf(context, target, prompt);
        return scope !== undefined && gateway.continuedResponses.find(scope, 'resp_1') !== undefined;
      },
    };
  }
  interface Played extends Partial<Settlement> {
    id?: string;
    model?: string;
  }

  test('bounds what continues it by its tokens and the new bytes', async () => {
    const { play, boundOf } = await start();
    expect(boundOf(NEXT).tokens).toBeGreaterThan(100_000);
    await play(FIRST);
    const { tokens, by } = boundOf(NEXT);
    expect(by).toBe('edit');
    expect(tokens).toBeGreaterThan(5_000 + 700);
    expect(tokens).toBeLessThan(5_000 + 700 + 3_500);
    await play(NEXT, { id: 'resp_2', usage: { ...USAGE, inputTokens: 6_000 } });
    expect(boundOf({ ...NEXT, previous_response_id: 'resp_2' }).tokens - tokens).toBe(1_000);
    // Of both, as the options differ.
    const changed = boundOf({ ...NEXT, previous_response_id: 'resp_2', reasoning: { effort: 'low' } });
    expect(changed.tokens - tokens).toBeGreaterThan(1_000 + 2 * 300 + 3_000);
  });

  test.each<[string, object]>([
    ['a conversation', { conversation: 'conv_1' }],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }],
    ['a prompt that may be cut', { truncation: 'auto' }],
    ['tools that the provider runs', { tools: [{ type: 'web_search' }] }],
    ['a file besides', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] }],
    ['another response', { previous_response_id: 'resp_9' }],
    ['an answer that goes on', { input: [{ role: 'assistant', content: 'And' }] }],
    ['a field that nobody knows', { unknown_context: 1 }],
  ])('bounds nothing for %s', async (_what, fields) => {
    const { play, boundOf } = await start();
    await play(FIRST);
    expect(boundOf(NEXT).by).toBe('edit');
    expect(boundOf({ ...NEXT, ...fields })).toMatchObject({ by: 'bytes' });
    expect(boundOf({ ...NEXT, ...fields }).tokens).toBeGreaterThan(100_000);
  });

  test.each<[string, object, Played]>([
    ['that is not stored', { store: false }, {}],
    ['with tools that the provider runs', { tools: [{ type: 'web_search' }] }, {}],
    ['whose prompt may have been cut', { truncation: 'auto' }, {}],
    ['of a conversation', { conversation: 'conv_1' }, {}],
    [
      'with an image by address',
      {
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png' }] }],
      },
      {},
    ],
    ['that continues an unknown one', { previous_response_id: 'resp_0' }, {}],
    ['whose client hung up', {}, { outcome: 'client_gone' }],
    ['of another model', {}, { model: 'gpt-4.1' }],
  ])('is not remembered %s', async (_what, fields, played) => {
    const { play, isKnown } = await start();
    await play({ ...FIRST, ...fields }, played);
    expect(isKnown(NEXT)).toBe(false);
  });

  test('is not remembered at a provider that writes calls anew', async () => {
    const { play, isKnown } = await start('mine');
    await play(FIRST);
    expect(isKnown(NEXT)).toBe(false);
  });

  test('is forgotten once another model answers to the name, and after an hour where the name has no date', async () => {
    const { play, isKnown, clock } = await start();
    await play(FIRST);
    expect(isKnown(NEXT)).toBe(true);
    await play(FIRST, { id: 'resp_2', model: 'gpt-4.1' });
    expect(isKnown(NEXT)).toBe(false);
    await play(FIRST);
    await clock.advance(3_600_001);
    expect(isKnown(NEXT)).toBe(false);
  });

  test('gives way to new ones', () => {
    const responses = createContinuedResponses({ monotonic: () => 0 });
    const scope = { model: MODEL, key: '' };
    const response = { inputTokens: 1, outputTokens: 1, reasoningTokens: 0, trailingSpace: 0, options: '' };
    for (let i = 0; i <= 10_000; i++)
      responses.remember(scope, `${i}`, response, { served: MODEL, lifetimeMs: 1 });
    expect(responses.find(scope, '0')).toBeUndefined();
    expect(responses.find(scope, '1')).toBeDefined();
    expect(responses.find({ ...scope, key: 'other' }, '1')).toBeUndefined();
    expect(responses.find({ ...scope, model: 'other' }, '1')).toBeUndefined();
  });
});
