import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costOf } from '../../src/pricing/cost.ts';
import { createPriceCard, type Prices, type TokenKind } from '../../src/pricing/price-card.ts';
import { flatRate } from '../../src/pricing/rate.ts';
import { readReport, type UsageReport, usageRules } from '../../src/pricing/usage-payload.ts';
import { addUsage } from '../../src/wire/answer/usage.ts';
import { inspectChoices } from '../../src/wire/apis/choice-answers.ts';
import { inspectMessageEvents } from '../../src/wire/apis/messages.ts';
import { anyReport, type Kind, type Report, type Truth } from './reports.ts';

const RUNS = process.env.GW_LONG ? 200_000 : 4_000;

/** Nano-dollars a token by kind, and the name of that kind on a price card: all different, so that no mix-up cancels out. */
const PRICES: Readonly<Record<Kind, readonly [nano: number, kind: TokenKind]>> = {
  fresh: [1_009, 'input'],
  cached: [101, 'cachedInput'],
  written: [1_259, 'cacheWrite'],
  written1h: [2_011, 'cacheWrite1h'],
  audio: [10_007, 'audioInput'],
  cachedAudio: [307, 'cachedAudioInput'],
  images: [1_607, 'imageInput'],
  cachedImages: [401, 'cachedImageInput'],
  text: [5_003, 'output'],
  reasoning: [5_003, 'output'],
  audioOut: [20_011, 'audioOutput'],
  imagesOut: [30_011, 'imageOutput'],
};

function cardAt(times: number) {
  const rates = Object.values(PRICES).map(([nano, kind]) => [kind, flatRate(BigInt(nano * times * 1_000))]);
  return createPriceCard('test', { ...Object.fromEntries(rates), perRequestPicoUsd: 0n } as Prices);
}
const CARDS = new Map<string | undefined, ReturnType<typeof cardAt>>([
  [undefined, cardAt(1)],
  ['dear', cardAt(7)],
]);

/** The bill, apart from the code under test. Output of no stated kind is priced as text here. */
function billOf({ truth, more }: Report): number {
  const sum = (tokens: Truth) =>
    (Object.keys(PRICES) as Kind[]).reduce((total, kind) => total + tokens[kind] * PRICES[kind][0], 0);
  return more.reduce((total, each) => total + sum(each.truth) * (each.model === 'dear' ? 7 : 1), sum(truth));
}

type Merge = typeof addUsage;

/** The usage as gw takes it from the answer. */
function received({ wire, payloads }: Report, merge: Merge): unknown {
  if (wire === 'body' || wire === 'responses') return payloads[0];
  let usage: unknown;
  let usageIs: string | undefined;
  payloads.forEach((payload, i) => {
    const isLast = i === payloads.length - 1;
    const event =
      wire === 'chat'
        ? { choices: [{ index: 0, delta: {}, finish_reason: isLast ? 'stop' : null }], usage: payload }
        : i === 0
          ? { type: 'message_start', message: { usage: payload } }
          : { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: payload };
    const bytes = Buffer.from(`data: ${JSON.stringify(event)}\n\n`);
    const inspected = wire === 'chat' ? inspectChoices(bytes, false) : inspectMessageEvents(bytes);
    usage = merge(usage, inspected.usage, usageIs === 'opening');
    usageIs = inspected.usageIs;
  });
  return usage;
}

type Read = typeof readReport;

/** Whether the booked cost is the bill to the nano-dollar, or the record says that the report contradicts itself. */
function isBilled(report: Report, read: Read = readReport, merge: Merge = addUsage): boolean {
  const { provider, model, endpoint } = report;
  const found = read(received(report, merge), usageRules(provider, model, endpoint));
  if (!found) return false;
  return found.conflicts.length > 0 || costAt(report, found) === billOf(report);
}

function costAt({ dialect }: Report, { parts }: UsageReport): number {
  return parts.reduce((sum, { model, usage }) => {
    // Text where only models that make pictures differ.
    const output = dialect === 'OpenAI images' ? usage : { ...usage, imageOutputTokens: 0 };
    return sum + costOf(output, CARDS.get(model) ?? cardAt(1));
  }, 0);
}

test(`${RUNS} reports of all providers are booked as billed, or flagged`, () => {
  fc.assert(
    fc.property(anyReport, (report) => isBilled(report)),
    { numRuns: RUNS },
  );
});

test('none but those that contradict themselves are flagged', () => {
  const MAY_CONFLICT = /^a relay$|streamed: changed$/;
  fc.assert(
    fc.property(anyReport, (report) => {
      const { provider, model, endpoint } = report;
      const found = readReport(received(report, addUsage), usageRules(provider, model, endpoint));
      if (!MAY_CONFLICT.test(report.dialect)) expect(found?.conflicts).toEqual([]);
      // Even those that contradict themselves are resolved by their provider's rule.
      expect(found && costAt(report, found)).toBe(billOf(report));
    }),
    { numRuns: 2_000 },
  );
});

describe('a reading is caught', () => {
  const without =
    (drop: (usage: Record<string, unknown>) => Record<string, unknown>): Read =>
    (payload, rules) =>
      readReport(drop({ ...(payload as object) }), rules);
  const READS: [string, Read][] = [
    ['without iterations', without(({ iterations: _, ...rest }) => rest)],
    ['without lifetimes of cache writes', without(({ cache_creation: _, ...rest }) => rest)],
    ["without DeepSeek's field", without(({ prompt_cache_hit_tokens: _, ...rest }) => rest)],
    ['without details of the input', without(({ prompt_tokens_details: _, ...rest }) => rest)],
    ['without kinds of output', without(({ output_tokens_details: _, ...rest }) => rest)],
    ['without rules of providers', (payload) => readReport(payload)],
    [
      'with reasoning always beside',
      (payload, rules) => readReport(payload, { ...rules, reasoningBeside: true }),
    ],
    [
      'with all models at one price',
      (payload, rules) => {
        const found = readReport(payload, rules);
        return found && { ...found, parts: [{ model: undefined, usage: found.usage }] };
      },
    ],
  ];
  const MERGES: [string, Merge][] = [
    ['that takes the larger of all figures', (before, usage) => addUsage(before, usage, false)],
    ['that takes the last figures', (before, usage) => ({ ...(before as object), ...(usage as object) })],
    ['that keeps the first figures', (before, usage) => ({ ...(usage as object), ...(before as object) })],
  ];
  const isCaught = (read?: Read, merge?: Merge) =>
    fc.check(
      fc.property(anyReport, (report) => isBilled(report, read, merge)),
      { numRuns: 3_000, seed: 7 },
    ).failed;

  test.each(READS)('%s', (_, read) => {
    // Reasoning beside the completion shows in no price where a total is given.
    if (_ === 'with reasoning always beside') return expect(isCaughtByTotal(read)).toBe(true);
    expect(isCaught(read)).toBe(true);
  });
  test.each(MERGES)('%s', (_, merge) => {
    expect(isCaught(readReport, merge)).toBe(true);
  });

  function isCaughtByTotal(read: Read): boolean {
    const usage = {
      prompt_tokens: 64,
      completion_tokens: 135,
      completion_tokens_details: { reasoning_tokens: 78 },
      total_tokens: 277,
    };
    return read(usage)?.usage.outputTokens !== readReport(usage)?.usage.outputTokens;
  }
});
