/**
 * Usage as the providers send it, and what it costs, worked out by hand. A bill is a sum of tokens x dollars
 * per million tokens, which makes millionths of a dollar; a thousand times that is nano-USD. The prices are
 * those of 20 November 2026 in the bundled data: when an update of it breaks a line here, check the new price
 * against the provider's page before changing the line.
 */
export interface Golden {
  name: string;
  provider: string;
  model: string;
  /** The provider's `usage`, as it came. */
  usage: unknown;
  bill: string;
  nanoUsd: number;
  /** UTC; noon of 20 November 2026 where the time doesn't matter. */
  at?: string;
}

const openAi: Golden[] = [
  {
    name: 'chat, nothing cached',
    provider: 'openai',
    model: 'gpt-4o-2024-08-06',
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 500,
      total_tokens: 1500,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    bill: '1000 x 2.50 + 500 x 10', // 2500 + 5000
    nanoUsd: 7_500_000,
  },
  {
    name: 'chat, a cached prefix is part of the prompt',
    provider: 'openai',
    model: 'gpt-4.1-mini',
    usage: {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    bill: '86 x 0.40 + 1920 x 0.10 + 300 x 1.60', // 34.4 + 192 + 480
    nanoUsd: 706_400,
  },
  {
    name: 'chat, reasoning is part of the completion',
    provider: 'openai',
    model: 'o3-mini',
    usage: {
      prompt_tokens: 75,
      completion_tokens: 1186,
      total_tokens: 1261,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 1024, audio_tokens: 0 },
    },
    bill: '75 x 1.10 + 1186 x 4.40', // 82.5 + 5218.4
    nanoUsd: 5_300_900,
  },
  {
    name: 'chat, an answer of one token rounds up to a whole nano-dollar',
    provider: 'openai',
    model: 'gpt-5',
    usage: { prompt_tokens: 1025, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 1024 } },
    bill: '1 x 1.25 + 1024 x 0.125 + 1 x 10', // 1.25 + 128 + 10
    nanoUsd: 139_250,
  },
  {
    name: 'responses, cached input is part of the input',
    provider: 'openai',
    model: 'gpt-4.1-mini-2025-04-14',
    usage: {
      input_tokens: 328,
      input_tokens_details: { cached_tokens: 256 },
      output_tokens: 52,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 380,
    },
    bill: '72 x 0.40 + 256 x 0.10 + 52 x 1.60', // 28.8 + 25.6 + 83.2
    nanoUsd: 137_600,
  },
  {
    name: 'responses, reasoning',
    provider: 'openai',
    model: 'gpt-5-mini',
    usage: {
      input_tokens: 81,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1035,
      output_tokens_details: { reasoning_tokens: 832 },
      total_tokens: 1116,
    },
    bill: '81 x 0.25 + 1035 x 2', // 20.25 + 2070
    nanoUsd: 2_090_250,
  },
  {
    name: 'responses, cache writes cost more than input',
    provider: 'openai',
    model: 'gpt-5.6-sol',
    usage: {
      input_tokens: 10_000,
      input_tokens_details: { cached_tokens: 4_000, cache_write_tokens: 5_000 },
      output_tokens: 200,
      output_tokens_details: { reasoning_tokens: 64 },
      total_tokens: 10_200,
    },
    bill: '1000 x 4 + 4000 x 0.40 + 5000 x 5 + 200 x 20', // 4000 + 1600 + 25000 + 4000
    nanoUsd: 34_600_000,
  },
  {
    name: 'input at the last token of the lower tier',
    provider: 'openai',
    model: 'gpt-5.5',
    usage: { prompt_tokens: 271_999, completion_tokens: 1000, total_tokens: 272_999 },
    bill: '271999 x 5 + 1000 x 30', // 1359995 + 30000
    nanoUsd: 1_389_995_000,
  },
  {
    name: 'one token more, and all tokens pay the higher tier',
    provider: 'openai',
    model: 'gpt-5.5',
    usage: {
      prompt_tokens: 272_000,
      completion_tokens: 1000,
      total_tokens: 273_000,
      prompt_tokens_details: { cached_tokens: 72_000 },
    },
    bill: '200000 x 10 + 72000 x 1 + 1000 x 45', // 2000000 + 72000 + 45000
    nanoUsd: 2_117_000_000,
  },
  {
    name: 'audio in and out',
    provider: 'openai',
    model: 'gpt-audio',
    usage: {
      prompt_tokens: 120,
      completion_tokens: 250,
      total_tokens: 370,
      prompt_tokens_details: { audio_tokens: 90, cached_tokens: 0, text_tokens: 30, image_tokens: 0 },
      completion_tokens_details: { audio_tokens: 200, reasoning_tokens: 0, text_tokens: 50 },
    },
    bill: '30 x 2.50 + 90 x 32 + 50 x 10 + 200 x 64', // 75 + 2880 + 500 + 12800
    nanoUsd: 16_255_000,
  },
  {
    name: 'transcription by tokens',
    provider: 'openai',
    model: 'gpt-4o-transcribe',
    usage: {
      type: 'tokens',
      input_tokens: 14,
      input_token_details: { text_tokens: 10, audio_tokens: 4 },
      output_tokens: 101,
      total_tokens: 115,
    },
    bill: '10 x 2.50 + 4 x 6 + 101 x 10', // 25 + 24 + 1010
    nanoUsd: 1_059_000,
  },
  {
    name: 'embeddings have no completion tokens',
    provider: 'openai',
    model: 'text-embedding-3-small',
    usage: { prompt_tokens: 8, total_tokens: 8 },
    bill: '8 x 0.02', // 0.16
    nanoUsd: 160,
  },
  {
    name: 'a model tuned by the user',
    provider: 'openai',
    model: 'ft:gpt-4o-mini-2024-07-18:acme::AbC123',
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
    bill: '100 x 0.30 + 10 x 1.20', // 30 + 12
    nanoUsd: 42_000,
  },
  {
    name: 'before a cut of its price',
    provider: 'openai',
    model: 'o3-2025-04-16',
    usage: { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 },
    bill: '100 x 10 + 100 x 40', // 1000 + 4000
    nanoUsd: 5_000_000,
    at: '2025-06-09T23:59:59.999Z',
  },
  {
    name: 'after the cut',
    provider: 'openai',
    model: 'o3-2025-04-16',
    usage: { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 },
    bill: '100 x 2 + 100 x 8', // 200 + 800
    nanoUsd: 1_000_000,
    at: '2025-06-10T00:00:00Z',
  },
  {
    name: 'Azure',
    provider: 'azure',
    model: 'gpt-4.1',
    usage: {
      prompt_tokens: 3072,
      completion_tokens: 40,
      total_tokens: 3112,
      prompt_tokens_details: { audio_tokens: 0, cached_tokens: 2048 },
      completion_tokens_details: {
        audio_tokens: 0,
        reasoning_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    bill: '1024 x 2 + 2048 x 0.50 + 40 x 8', // 2048 + 1024 + 320
    nanoUsd: 3_392_000,
  },
];

const anthropic: Golden[] = [
  {
    name: 'messages, nothing cached',
    provider: 'anthropic',
    model: 'claude-3-5-haiku-20241022',
    usage: {
      input_tokens: 2095,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 503,
      service_tier: 'standard',
    },
    bill: '2095 x 0.80 + 503 x 4', // 1676 + 2012
    nanoUsd: 3_688_000,
  },
  {
    name: 'messages without any mention of a cache',
    provider: 'anthropic',
    model: 'claude-haiku-4-5',
    usage: { input_tokens: 12, output_tokens: 6 },
    bill: '12 x 1 + 6 x 5', // 12 + 30
    nanoUsd: 42_000,
  },
  {
    name: 'messages, cache reads and writes come on top of the input',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5-20250929',
    usage: {
      input_tokens: 21,
      cache_creation_input_tokens: 4735,
      cache_read_input_tokens: 18_004,
      cache_creation: { ephemeral_5m_input_tokens: 4735, ephemeral_1h_input_tokens: 0 },
      output_tokens: 255,
      service_tier: 'standard',
    },
    bill: '21 x 3 + 18004 x 0.30 + 4735 x 3.75 + 255 x 15', // 63 + 5401.2 + 17756.25 + 3825
    nanoUsd: 27_045_450,
  },
  {
    name: 'messages, writes for an hour cost twice the input',
    provider: 'anthropic',
    model: 'claude-opus-4-1-20250805',
    usage: {
      input_tokens: 4,
      cache_creation_input_tokens: 3000,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
      output_tokens: 10,
    },
    bill: '4 x 15 + 1000 x 18.75 + 2000 x 30 + 10 x 75', // 60 + 18750 + 60000 + 750
    nanoUsd: 79_560_000,
  },
  {
    name: 'messages, the split by lifetime without the sum',
    provider: 'anthropic',
    model: 'claude-haiku-4-5-20251001',
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      output_tokens: 1,
    },
    bill: '10 x 1 + 100 x 1.25 + 200 x 2 + 1 x 5', // 10 + 125 + 400 + 5
    nanoUsd: 540_000,
  },
  {
    name: 'messages, cached input counts towards the tier',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    usage: {
      input_tokens: 1,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 200_000,
      output_tokens: 100,
    },
    bill: '1 x 6 + 200000 x 0.60 + 100 x 22.50', // 6 + 120000 + 2250
    nanoUsd: 122_256_000,
  },
  {
    name: 'messages, exactly at the threshold is not over it',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    usage: {
      input_tokens: 1,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 199_999,
      output_tokens: 100,
    },
    bill: '1 x 3 + 199999 x 0.30 + 100 x 15', // 3 + 59999.7 + 1500
    nanoUsd: 61_502_700,
  },
  {
    name: 'messages, thinking is part of the output',
    provider: 'anthropic',
    model: 'claude-opus-5-5',
    usage: {
      input_tokens: 50,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 900,
      output_tokens_details: { thinking_tokens: 700 },
      server_tool_use: null,
    },
    bill: '50 x 4 + 900 x 20', // 200 + 18000
    nanoUsd: 18_200_000,
  },
  {
    name: 'messages, what was spent on compaction comes on top',
    provider: 'anthropic',
    model: 'claude-opus-4-6',
    usage: {
      input_tokens: 23_000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1000,
      iterations: [
        { type: 'compaction', input_tokens: 180_000, output_tokens: 3500 },
        { type: 'message', input_tokens: 23_000, output_tokens: 1000 },
      ],
    },
    bill: '203000 x 5 + 4500 x 25', // 1015000 + 112500
    nanoUsd: 1_127_500_000,
  },
  {
    name: "Anthropic's chat completions",
    provider: 'anthropic',
    model: 'claude-haiku-4-5',
    usage: { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 },
    bill: '30 x 1 + 20 x 5', // 30 + 100
    nanoUsd: 130_000,
  },
];

const google: Golden[] = [
  {
    name: 'Gemini, thinking is in the total only',
    provider: 'google',
    model: 'gemini-2.5-flash',
    usage: { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 },
    bill: '20 x 0.30 + 603 x 2.50', // 6 + 1507.5
    nanoUsd: 1_513_500,
  },
  {
    name: 'Gemini, thinking and nothing else',
    provider: 'google',
    model: 'models/gemini-2.5-flash',
    usage: {
      completion_tokens: 0,
      total_tokens: 81,
      prompt_tokens: 21,
      completion_tokens_details: { reasoning_tokens: 60 },
    },
    bill: '21 x 0.30 + 60 x 2.50', // 6.3 + 150
    nanoUsd: 156_300,
  },
  {
    name: 'Gemini, audio among the prompt',
    provider: 'google',
    model: 'gemini-2.5-flash',
    usage: {
      prompt_tokens: 1010,
      completion_tokens: 40,
      total_tokens: 1050,
      prompt_tokens_details: { audio_tokens: 1000, cached_tokens: 0 },
    },
    bill: '10 x 0.30 + 1000 x 1 + 40 x 2.50', // 3 + 1000 + 100
    nanoUsd: 1_103_000,
  },
  {
    name: 'Gemini over 200k, on Vertex',
    provider: 'google',
    model: 'google/gemini-2.5-pro',
    usage: {
      prompt_tokens: 200_001,
      completion_tokens: 2000,
      total_tokens: 202_001,
      prompt_tokens_details: { cached_tokens: 150_000 },
    },
    bill: '50001 x 2.50 + 150000 x 0.25 + 2000 x 15', // 125002.5 + 37500 + 30000
    nanoUsd: 192_502_500,
  },
];

const others: Golden[] = [
  {
    name: 'DeepSeek at its standard hours, cache hits and misses',
    provider: 'deepseek',
    model: 'deepseek-chat',
    usage: {
      prompt_tokens: 1040,
      completion_tokens: 100,
      total_tokens: 1140,
      prompt_tokens_details: { cached_tokens: 1024 },
      prompt_cache_hit_tokens: 1024,
      prompt_cache_miss_tokens: 16,
    },
    bill: '16 x 0.27 + 1024 x 0.07 + 100 x 1.10', // 4.32 + 71.68 + 110
    nanoUsd: 186_000,
  },
  {
    name: 'DeepSeek at its cheap hours, with its own fields only',
    provider: 'deepseek',
    model: 'deepseek-chat',
    usage: {
      prompt_tokens: 1040,
      completion_tokens: 100,
      total_tokens: 1140,
      prompt_cache_hit_tokens: 1024,
      prompt_cache_miss_tokens: 16,
    },
    bill: '16 x 0.135 + 1024 x 0.035 + 100 x 0.55', // 2.16 + 35.84 + 55
    nanoUsd: 93_000,
    at: '2026-11-20T16:30:00Z',
  },
  {
    name: 'DeepSeek at its peak hours, reasoning',
    provider: 'deepseek',
    model: 'deepseek-v4-pro',
    usage: {
      prompt_tokens: 500,
      completion_tokens: 2500,
      total_tokens: 3000,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 2200 },
      prompt_cache_hit_tokens: 0,
      prompt_cache_miss_tokens: 500,
    },
    bill: '500 x 1.32 + 2500 x 3.96', // 660 + 9900
    nanoUsd: 10_560_000,
    at: '2026-11-20T03:59:59Z',
  },
  {
    name: 'xAI, reasoning is beside the completion and in the total',
    provider: 'xai',
    model: 'grok-4',
    usage: {
      prompt_tokens: 2321,
      completion_tokens: 817,
      total_tokens: 3863,
      prompt_tokens_details: { text_tokens: 2321, audio_tokens: 0, image_tokens: 0, cached_tokens: 149 },
      completion_tokens_details: { reasoning_tokens: 725, audio_tokens: 0 },
      num_sources_used: 0,
    },
    bill: '2172 x 3 + 149 x 0.75 + 1542 x 15', // 6516 + 111.75 + 23130
    nanoUsd: 29_757_750,
  },
  {
    name: 'xAI without a total',
    provider: 'xai',
    model: 'grok-3-mini',
    usage: {
      prompt_tokens: 10,
      completion_tokens: 9,
      completion_tokens_details: { reasoning_tokens: 291 },
    },
    bill: '10 x 0.30 + 300 x 0.50', // 3 + 150
    nanoUsd: 153_000,
  },
  {
    name: 'Groq, among its timings',
    provider: 'groq',
    model: 'llama-3.3-70b-versatile',
    usage: {
      queue_time: 0.037493756,
      prompt_tokens: 18,
      prompt_time: 0.000680594,
      completion_tokens: 556,
      completion_time: 0.463333333,
      total_tokens: 574,
      total_time: 0.464013927,
    },
    bill: '18 x 0.59 + 556 x 0.79', // 10.62 + 439.24
    nanoUsd: 449_860,
  },
  {
    name: 'Groq, cached',
    provider: 'groq',
    model: 'openai/gpt-oss-120b',
    usage: {
      prompt_tokens: 4641,
      completion_tokens: 100,
      total_tokens: 4741,
      prompt_tokens_details: { cached_tokens: 4608 },
      completion_tokens_details: { reasoning_tokens: 30 },
    },
    bill: '33 x 0.15 + 4608 x 0.075 + 100 x 0.60', // 4.95 + 345.6 + 60
    nanoUsd: 410_550,
  },
  {
    name: 'Mistral',
    provider: 'mistral',
    model: 'mistral-large-latest',
    usage: { prompt_tokens: 13, total_tokens: 46, completion_tokens: 33, prompt_audio_seconds: null },
    bill: '13 x 2 + 33 x 6', // 26 + 198
    nanoUsd: 224_000,
  },
  {
    name: 'Together',
    provider: 'together',
    model: 'meta-llama/Llama-3.3-70B-Instruct-Turbo',
    usage: { prompt_tokens: 36, completion_tokens: 64, total_tokens: 100, cached_tokens: 0 },
    bill: '100 x 0.88', // 88
    nanoUsd: 88_000,
  },
  {
    name: 'Fireworks',
    provider: 'fireworks',
    model: 'accounts/fireworks/models/gpt-oss-120b',
    usage: {
      prompt_tokens: 1100,
      total_tokens: 1200,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 1000 },
    },
    bill: '100 x 0.15 + 1000 x 0.014 + 100 x 0.60', // 15 + 14 + 60
    nanoUsd: 89_000,
  },
  {
    name: 'Cerebras',
    provider: 'cerebras',
    model: 'gpt-oss-120b',
    usage: {
      prompt_tokens: 70,
      completion_tokens: 200,
      total_tokens: 270,
      prompt_tokens_details: { cached_tokens: 0 },
    },
    bill: '70 x 0.35 + 200 x 0.75', // 24.5 + 150
    nanoUsd: 174_500,
  },
  {
    name: 'Moonshot, the cached count is not among the details',
    provider: 'moonshot',
    model: 'kimi-k2-0905-preview',
    usage: { prompt_tokens: 8687, completion_tokens: 77, total_tokens: 8764, cached_tokens: 8192 },
    bill: '495 x 0.60 + 8192 x 0.15 + 77 x 2.50', // 297 + 1228.8 + 192.5
    nanoUsd: 1_718_300,
  },
  {
    name: 'Perplexity, a price for each request besides',
    provider: 'perplexity',
    model: 'sonar-pro',
    usage: {
      prompt_tokens: 480,
      completion_tokens: 2823,
      total_tokens: 3303,
      search_context_size: 'high',
    },
    bill: '480 x 3 + 2823 x 15 + 1 x 14000', // 1440 + 42345, and $14 for a thousand requests
    nanoUsd: 57_785_000,
  },
  {
    name: "Perplexity's deep research, reasoning and citations are in no total",
    provider: 'perplexity',
    model: 'sonar-deep-research',
    usage: {
      prompt_tokens: 33,
      completion_tokens: 7163,
      total_tokens: 7196,
      citation_tokens: 20_016,
      num_search_queries: 18,
      reasoning_tokens: 73_997,
    },
    bill: '33 x 2 + 101176 x 8', // 66 + 809408: all of it as output, which is no cheaper than its own prices
    nanoUsd: 809_474_000,
  },
];

const openRouter: Golden[] = [
  {
    name: 'OpenRouter, written to the cache is part of the prompt',
    provider: 'openrouter',
    model: 'anthropic/claude-sonnet-4.5',
    usage: {
      prompt_tokens: 10_339,
      completion_tokens: 60,
      total_tokens: 10_399,
      cost: 0.0123,
      is_byok: false,
      prompt_tokens_details: {
        cached_tokens: 8000,
        cache_write_tokens: 2000,
        audio_tokens: 0,
        video_tokens: 0,
      },
      cost_details: { upstream_inference_cost: null },
      completion_tokens_details: { reasoning_tokens: 0, image_tokens: 0 },
    },
    bill: '339 x 3 + 8000 x 0.30 + 2000 x 3.75 + 60 x 15', // 1017 + 2400 + 7500 + 900
    nanoUsd: 11_817_000,
  },
  {
    name: 'OpenRouter, writes for an hour are priced by the input where the data lacks them',
    provider: 'openrouter',
    model: 'anthropic/claude-haiku-4.5',
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 10,
      total_tokens: 1010,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 900 },
      cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 500 },
    },
    bill: '100 x 1 + 400 x 1.25 + 500 x 2 + 10 x 5', // 100 + 500 + 1000 + 50
    nanoUsd: 1_650_000,
  },
  {
    name: 'OpenRouter, a model without a cache price pays the input price for hits',
    provider: 'openrouter',
    model: 'openai/gpt-4o',
    usage: {
      prompt_tokens: 194,
      completion_tokens: 2,
      total_tokens: 196,
      prompt_tokens_details: { cached_tokens: 100 },
    },
    bill: '194 x 2.50 + 2 x 10', // 485 + 20
    nanoUsd: 505_000,
  },
  {
    name: 'OpenRouter, a free variant',
    provider: 'openrouter',
    model: 'meta-llama/llama-3.3-70b-instruct:free',
    usage: { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1000 },
    bill: '1000 x 0',
    nanoUsd: 0,
  },
];

const local: Golden[] = [
  {
    name: 'Ollama',
    provider: 'ollama',
    model: 'llama3.2:3b',
    usage: { prompt_tokens: 26, completion_tokens: 290, total_tokens: 316 },
    bill: '316 x 0',
    nanoUsd: 0,
  },
  {
    name: 'vLLM, with no details',
    provider: 'vllm',
    model: 'Qwen/Qwen3-8B',
    usage: { prompt_tokens: 9, total_tokens: 19, completion_tokens: 10, prompt_tokens_details: null },
    bill: '19 x 0',
    nanoUsd: 0,
  },
  {
    name: 'the sandbox',
    provider: 'sandbox',
    model: 'sandbox/echo',
    usage: {
      prompt_tokens: 7,
      completion_tokens: 3,
      total_tokens: 10,
      prompt_tokens_details: { cached_tokens: 4 },
    },
    bill: '3 x 0.15 + 4 x 0.075 + 3 x 0.60', // 0.45 + 0.3 + 1.8
    nanoUsd: 2_550,
  },
];

export const GOLDEN: readonly Golden[] = [
  ...openAi,
  ...anthropic,
  ...google,
  ...others,
  ...openRouter,
  ...local,
];
