import { test } from 'vitest';
import { readReportedCost } from '../../src/pricing/reported-cost.ts';
import {
  readImageUsage,
  readReport,
  readToolCalls,
  readToolRuns,
  reportsToolCalls,
  statesOutput,
  usageRules,
} from '../../src/pricing/usage-payload.ts';
import type { TokenUsage } from '../../src/usage.ts';
import { addUsage } from '../../src/wire/answer/usage.ts';
import { expectFrozen, variationsOf } from '../support/frozen.ts';

/** Each count is another one, so that none is taken for another unnoticed. */
const LIFETIMES = { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 50 };
const CHAT = {
  prompt_tokens: 2_000,
  completion_tokens: 500,
  total_tokens: 2_500,
  prompt_tokens_details: {
    cached_tokens: 700,
    cache_write_tokens: 110,
    audio_tokens: 210,
    image_tokens: 320,
    cached_tokens_details: { audio_tokens: 60, image_tokens: 70 },
    cache_creation_token_details: { ephemeral_1h_input_tokens: 40 },
  },
  completion_tokens_details: { reasoning_tokens: 130, audio_tokens: 31, image_tokens: 17 },
};
const MESSAGES = {
  input_tokens: 900,
  cache_read_input_tokens: 200,
  cache_creation_input_tokens: 350,
  cache_creation: LIFETIMES,
  output_tokens: 80,
};

interface Case {
  provider?: string;
  model?: string;
  endpoint?: string;
  usage: object;
}

const CASES: Record<string, Case> = {
  'chat, all kinds of tokens': { usage: CHAT },
  'chat, most of it cached audio and images': {
    usage: {
      prompt_tokens: 1_000,
      completion_tokens: 10,
      prompt_tokens_details: {
        cached_tokens: 900,
        audio_tokens: 500,
        image_tokens: 450,
        cached_tokens_details: { audio_tokens: 450, image_tokens: 440 },
      },
    },
  },
  'chat, text of the output alone': {
    usage: {
      prompt_tokens: 10,
      completion_tokens: 90,
      completion_tokens_details: { text_tokens: 50, audio_tokens: 15, reasoning_tokens: 8 },
    },
  },
  'chat of a proxy of Anthropic': {
    usage: {
      prompt_tokens: 1_000,
      completion_tokens: 10,
      cache_read_input_tokens: 300,
      cache_creation_input_tokens: 150,
      cache_creation: { ephemeral_1h_input_tokens: 40 },
      prompt_tokens_details: { cache_creation_input_tokens: 160, cache_read_input_tokens: 310 },
    },
  },
  'chat, cached tokens where other providers state them': {
    usage: {
      prompt_tokens: 1_000,
      completion_tokens: 10,
      cached_prompt_text_tokens: 105,
      num_cached_tokens: 104,
      cached_tokens: 103,
      prompt_cache_hit_tokens: 102,
      prompt_tokens_details: { cache_creation_tokens: 33 },
    },
  },
  'reasoning beside the completion': {
    model: 'grok-4',
    usage: {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 180,
      reasoning_tokens: 20,
      completion_tokens_details: { reasoning_tokens: 30 },
    },
  },
  'reasoning that is more than the completion': {
    usage: {
      prompt_tokens: 100,
      completion_tokens: 30,
      total_tokens: 180,
      completion_tokens_details: { thinking_tokens: 50 },
    },
  },
  'a total that leaves more output than is stated': {
    usage: { prompt_tokens: 100, completion_tokens: 30, total_tokens: 150 },
  },
  'an output that only the total tells': { usage: { prompt_tokens: 100, total_tokens: 150 } },
  'Perplexity, with citations': {
    provider: 'perplexity',
    usage: {
      prompt_tokens: 100,
      completion_tokens: 30,
      total_tokens: 140,
      citation_tokens: 7,
      reasoning_tokens: 11,
      cost: { total_cost: 0.0123 },
    },
  },
  'a response with tools': {
    usage: {
      input_tokens: 1_000,
      input_tokens_details: { cached_tokens: 200, cache_write_tokens: 30 },
      output_tokens: 60,
      output_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 1_060,
      server_tool_calls: { web_search: 3, file_search: 2 },
      tool_usage: { web_search: { num_requests: 4 }, image_gen: { input_tokens: 5, output_tokens: 600 } },
      containers: ['c1', 7, 'c2'],
    },
  },
  'pictures, by kinds of tokens': {
    usage: {
      input_tokens: 100,
      input_token_details: { image_tokens: 40, text_tokens: 60 },
      output_tokens: 50,
      output_token_details: { image_tokens: 45, text_tokens: 5 },
    },
  },
  'a message': { usage: { ...MESSAGES, server_tool_use: { web_search_requests: 2 } } },
  'a message of iterations': {
    usage: {
      ...MESSAGES,
      iterations: [
        { type: 'compaction', input_tokens: 70, output_tokens: 7 },
        { type: 'advisor_message', model: 'dear', input_tokens: 60, output_tokens: 6 },
        { type: 'message', model: 'other', input_tokens: 500, output_tokens: 50, cache_read_input_tokens: 9 },
        { type: 'message', model: 5, input_tokens: 100, output_tokens: 20 },
      ],
    },
  },
  embeddings: { endpoint: 'embeddings', usage: { input_tokens: 20, total_tokens: 30 } },
  'a reranking': { endpoint: 'rerank', usage: { total_tokens: 30 } },
  "OpenRouter's cost": {
    provider: 'openrouter',
    usage: {
      prompt_tokens: 5,
      completion_tokens: 5,
      cost: 0.001,
      is_byok: true,
      cost_details: { upstream_inference_cost: 0.02 },
    },
  },
  "xAI's ticks": {
    provider: 'xai',
    usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 12, cost_in_usd_ticks: 12_345 },
  },
  'the cost of a provider that is not trusted': {
    provider: 'mock',
    usage: { prompt_tokens: 5, completion_tokens: 5, cost: 0.001 },
  },
};

/** More than the rest, and nothing. */
const otherCounts = (value: unknown) => (typeof value === 'number' ? [3 * value, 0] : [null]);

/** What is read of a report, without the counts that are 0. */
function reading({ provider = 'mock', model = 'gpt-x', endpoint }: Case, usage: unknown) {
  const report = readReport(usage, usageRules(provider, model, endpoint));
  return {
    ...(report
      ? {
          ...some(report.usage),
          parts:
            report.parts.length === 1
              ? undefined
              : report.parts.map((part) => [part.model, some(part.usage)]),
          conflicts: report.conflicts.length === 0 ? undefined : report.conflicts,
        }
      : { unknown: true }),
    noOutput: !statesOutput(usage) || undefined,
    cost: readReportedCost(provider, usage),
    ...(reportsToolCalls(usage) && { calls: readToolCalls(usage), runs: readToolRuns(usage) }),
    searches: readToolCalls(usage).web_search,
    pictures: readImageUsage(usage) && some(readImageUsage(usage)),
  };
}

function some(usage: TokenUsage | undefined) {
  const names = { Input: 'In', Output: 'Out', Tokens: '' };
  const short = (name: string) => Object.entries(names).reduce((all, [of, to]) => all.replace(of, to), name);
  return Object.fromEntries(
    Object.entries(usage ?? {}).flatMap(([name, count]) => (count === 0 ? [] : [[short(name), count]])),
  );
}

test('what is read of the usage of each API, and of one that is wrong somewhere', async () => {
  const rows = Object.entries(CASES).map(([name, each]) => ({
    name,
    outcome: () => reading(each, each.usage),
    variations: Array.from(variationsOf(each.usage, otherCounts), (other) => ({
      name: other.name,
      outcome: () => reading(each, other.value),
    })),
  }));
  await expectFrozen(import.meta.dirname, 'usage', rows);
});

test('how the usage of two events is merged', async () => {
  const start = { ...MESSAGES, output_tokens: 1, service_tier: null, inner: { text: 5 } };
  const ends = {
    'the same again': { ...MESSAGES, output_tokens: 9 },
    'other caches': {
      input_tokens: 10,
      cache_read_input_tokens: 1_400,
      cache_creation_input_tokens: 40,
      output_tokens: 0,
      service_tier: 'standard',
      inner: { text: 3, image: 1 },
    },
    'the cached part alone': { cache_read_input_tokens: 300, output_tokens: 4, inner: null },
  };
  const rows = Object.entries(ends).flatMap(([name, end]) => [
    {
      name: `at the end, ${name}`,
      outcome: () => addUsage(start, end, true),
      variations: [
        ...Array.from(variationsOf(start, otherCounts), (other) => ({
          name: `from ${other.name}`,
          outcome: () => addUsage(other.value, end, true),
        })),
        ...Array.from(variationsOf(end, otherCounts), (other) => ({
          name: `to ${other.name}`,
          outcome: () => addUsage(start, other.value, true),
        })),
      ],
    },
    { name: `in the middle, ${name}`, outcome: () => addUsage(start, end) },
    {
      name: `after a count of the whole prompt, ${name}`,
      outcome: () => addUsage({ input_tokens: 500, output_tokens: 0 }, end, true),
    },
  ]);
  await expectFrozen(import.meta.dirname, 'merged-usage', rows);
});
