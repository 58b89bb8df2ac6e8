import type { Dialect } from './dialect.ts';

/**
 * Gemini 3 refuses a call without its signature, and takes a stand-in for calls of other models:
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
const SIGNATURES = {
  extras: true,
  standIn: {
    models: /(?:^|\/)gemini-[3-9]/,
    extra: { google: { thought_signature: 'skip_thought_signature_validator' } },
  },
};

/** For a provider that has its API as it is documented. */
export const NO_DIALECT: Dialect = {};

/** A provider of the user's own takes what it is sent back. */
export const UNKNOWN: Dialect = { reasoning: 'kept', ...SIGNATURES };

/** Templates of open models refuse a system message that is not the first. */
const LOCAL: Dialect = { reasoning: 'kept', systemFirst: true };

/**
 * Reasoning models keep their reasoning between calls only in responses, gpt-5.4 and later take tools in no other API, and
 * some models have no other: https://developers.openai.com/api/docs/guides/migrate-to-responses
 */
const OPENAI: Dialect = {
  responses: {
    always: /codex|-pro(?:-\d|$)|deep-research/,
    withTools: /^(?:gpt-(?:[5-9]|\d\d)|o[1-9](?:-|$))/,
  },
};

/** What providers do differently, by the names of their presets. */
export const DIALECTS: Readonly<Record<string, Dialect>> = {
  openai: OPENAI,
  azure: OPENAI,
  google: { ...SIGNATURES, plainSchemas: true, lacksResponses: true },
  gemini: { ...SIGNATURES, systemFirst: true },
  /** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview */
  vertex: { ...SIGNATURES, plainSchemas: true, lacksResponses: true },
  /** https://api-docs.deepseek.com/guides/thinking_mode */
  deepseek: { reasoning: 'required' },
  /** https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model */
  moonshot: { reasoning: 'required', lacksResponses: true },
  /**
   * https://docs.mistral.ai/capabilities/function_calling, mistralai/client-python, BerriAI/litellm#6323: ids of nine
   * letters and digits, no user behind a tool, 422 for fields that it doesn't know.
   */
  mistral: {
    lacksResponses: true,
    toolIds: 9,
    userBehindTool: false,
    systemFirst: true,
    refuses: ['stream_options', 'user', 'service_tier', 'verbosity'],
  },
  /** https://openrouter.ai/docs/guides/best-practices/reasoning-tokens and .../prompt-caching */
  openrouter: { details: true, cacheMarks: true, ...SIGNATURES },
  /**
   * https://docs.z.ai/guides/capabilities/thinking-mode and https://docs.z.ai/api-reference/llm/chat-completion: no choice
   * of tools but auto, one stop, usage unasked.
   */
  zai: {
    lacksResponses: true,
    reasoning: 'kept',
    strictTools: false,
    onlyAutoTools: true,
    maxStops: 1,
    refuses: ['stream_options', 'parallel_tool_calls', 'user', 'verbosity'],
  },
  /** https://platform.minimax.io/docs/api-reference/text-openai-api: reasoning is in the text unless it is asked for apart. */
  minimax: { details: true, strictTools: false, adds: { reasoning_split: true } },
  /** https://www.alibabacloud.com/help/en/model-studio/qwen-function-calling */
  dashscope: { reasoning: 'kept', cacheMarks: true, strictTools: false },
  /** https://console.groq.com/docs/reasoning: reasoning comes in `reasoning`, and is refused on its way back. */
  groq: { reasoning: 'refused', strictTools: false },
  /** https://docs.x.ai/docs/guides/reasoning: reasoning is for reading, and no field of a request's messages. */
  xai: { reasoning: 'refused' },
  /** https://inference-docs.cerebras.ai/resources/openai */
  cerebras: { reasoning: 'refused', refuses: ['user'], lacksResponses: true },
  /** https://docs.fireworks.ai/guides/reasoning: of several turns, reasoning is kept where it comes back. */
  fireworks: { reasoning: 'kept' },
  together: { reasoning: 'kept' },
  /**
   * Takes a token of GitHub's, and has codex models in responses alone: anomalyco/opencode#2758, #8900. One answer may be
   * in two choices.
   */
  copilot: { ...OPENAI, opaque: true },
  vllm: LOCAL,
  lmstudio: LOCAL,
  ollama: LOCAL,
  llamacpp: LOCAL,
};

/** Other hosts of providers, by name: regions, and services that need no preset. */
export const OTHER_HOSTS: Readonly<Record<string, string>> = {
  'api.githubcopilot.com': 'copilot',
  'api.moonshot.cn': 'moonshot',
  'api.minimaxi.com': 'minimax',
  'open.bigmodel.cn': 'zai',
  'dashscope.aliyuncs.com': 'dashscope',
  'dashscope-us.aliyuncs.com': 'dashscope',
};
