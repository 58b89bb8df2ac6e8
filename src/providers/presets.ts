/** Built-in settings of a well-known provider. */
export interface Preset {
  /** Undefined if every account has its own address. */
  baseUrl?: string;
  /** Environment variables that usually hold the key, in order of preference. Empty if no key is needed. */
  keyEnv: readonly string[];
  wire: 'openai' | 'anthropic' | 'gemini';
  /** The field that limits the output of a chat completion. */
  outputLimit: 'max_completion_tokens' | 'max_tokens';
  /** Model names that identify this provider. */
  models?: RegExp;
  /**
   * A host that stops generating and billing when the client of a stream disconnects. Includes its subdomains. A closed
   * list, from "Stream cancellation" in https://openrouter.ai/docs/api-reference/streaming. All other hosts are assumed
   * to generate and bill a response to its end, and so are these hosts for responses without streaming.
   */
  stopsOnHangUp?: string;
  /** Has an endpoint that counts a request's input (token-count.ts). Providers without a preset are probed once. */
  countsInput?: boolean;
  /** Runs on the user's machine and costs nothing. */
  local?: boolean;
  /** Header for the key, unless it is `authorization: Bearer`. */
  keyHeader?: string;
  /** Takes `authorization: Bearer` in Anthropic's API too. */
  hasBearer?: boolean;
}

const hosted = (baseUrl: string, keyEnv: readonly string[], models?: RegExp): Preset => ({
  baseUrl,
  keyEnv,
  wire: 'openai',
  outputLimit: 'max_tokens',
  ...(models ? { models } : {}),
});

/** A preset whose own host stops when a client disconnects. */
const stopping = (preset: Preset): Preset => ({
  ...preset,
  ...(preset.baseUrl ? { stopsOnHangUp: new URL(preset.baseUrl).hostname } : {}),
});

const local = (baseUrl: string): Preset => ({
  baseUrl,
  keyEnv: [],
  wire: 'openai',
  outputLimit: 'max_tokens',
  local: true,
});

/** The providers known to `gw providers add NAME`. Other OpenAI-compatible services need `--base-url`. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  openai: {
    ...stopping(
      hosted(
        'https://api.openai.com/v1',
        ['OPENAI_API_KEY'],
        /^(gpt-|o[1-9](-|$)|chatgpt-|codex-|computer-use-|text-embedding-|omni-moderation|text-moderation|dall-e-|tts-|whisper-|sora-)/,
      ),
    ),
    outputLimit: 'max_completion_tokens',
    countsInput: true,
  },
  anthropic: {
    ...stopping(hosted('https://api.anthropic.com/v1', ['ANTHROPIC_API_KEY'], /^claude-/)),
    wire: 'anthropic',
    countsInput: true,
  },
  azure: {
    keyEnv: ['AZURE_OPENAI_API_KEY'],
    wire: 'openai',
    outputLimit: 'max_completion_tokens',
    keyHeader: 'api-key',
    stopsOnHangUp: 'openai.azure.com',
    countsInput: true,
  },
  /** Reached as an account of the cloud (clouds/), like azure with `--resource`. */
  bedrock: {
    keyEnv: ['AWS_BEARER_TOKEN_BEDROCK'],
    hasBearer: true,
    wire: 'openai',
    outputLimit: 'max_completion_tokens',
    models:
      /^(?:arn:aws|(?:(?:global|[a-z]{2,4}|us-gov)\.)?(?:anthropic|amazon|meta|mistral|openai|qwen|deepseek)\.)/,
  },
  vertex: { keyEnv: [], hasBearer: true, wire: 'openai', outputLimit: 'max_tokens' },
  google: {
    ...hosted(
      'https://generativelanguage.googleapis.com/v1beta/openai',
      ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
      /^(models\/)?(gemini-|gemma-)/,
    ),
    countsInput: true,
  },
  gemini: {
    ...hosted(
      'https://generativelanguage.googleapis.com/v1beta',
      ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
      /^(models\/)?(gemini-|gemma-)/,
    ),
    wire: 'gemini',
    countsInput: true,
  },
  groq: hosted('https://api.groq.com/openai/v1', ['GROQ_API_KEY']),
  mistral: hosted(
    'https://api.mistral.ai/v1',
    ['MISTRAL_API_KEY'],
    /^(mistral-|ministral-|magistral-|codestral-|devstral-|pixtral-|open-mi)/,
  ),
  deepseek: {
    ...stopping(
      hosted('https://api.deepseek.com/v1', ['DEEPSEEK_API_KEY'], /^deepseek-(chat|reasoner|coder)/),
    ),
  },
  xai: stopping(hosted('https://api.x.ai/v1', ['XAI_API_KEY'], /^grok-/)),
  openrouter: hosted('https://openrouter.ai/api/v1', ['OPENROUTER_API_KEY']),
  together: stopping(hosted('https://api.together.xyz/v1', ['TOGETHER_API_KEY'])),
  fireworks: stopping(
    hosted('https://api.fireworks.ai/inference/v1', ['FIREWORKS_API_KEY'], /^accounts\/fireworks\//),
  ),
  cerebras: hosted('https://api.cerebras.ai/v1', ['CEREBRAS_API_KEY']),
  perplexity: hosted('https://api.perplexity.ai', ['PERPLEXITY_API_KEY'], /^sonar/),
  cohere: hosted('https://api.cohere.ai/compatibility/v1', ['COHERE_API_KEY', 'CO_API_KEY'], /^command-/),
  moonshot: hosted('https://api.moonshot.ai/v1', ['MOONSHOT_API_KEY'], /^(moonshot-|kimi-)/),
  zai: hosted('https://api.z.ai/api/paas/v4', ['ZAI_API_KEY'], /^glm-/),
  minimax: {
    ...hosted('https://api.minimax.io/v1', ['MINIMAX_API_KEY'], /^MiniMax-/),
    outputLimit: 'max_completion_tokens',
  },
  dashscope: hosted(
    'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    ['DASHSCOPE_API_KEY'],
    /^(qwen|qwq|qvq)/,
  ),
  nvidia: hosted('https://integrate.api.nvidia.com/v1', ['NVIDIA_API_KEY']),
  ollama: local('http://127.0.0.1:11434/v1'),
  lmstudio: local('http://127.0.0.1:1234/v1'),
  vllm: local('http://127.0.0.1:8000/v1'),
  llamacpp: local('http://127.0.0.1:8080/v1'),
};

/** Defaults for a provider without a preset. */
export const UNKNOWN_PRESET: Preset = {
  keyEnv: [],
  wire: 'openai',
  outputLimit: 'max_tokens',
};

const MAKERS = Object.entries(PRESETS).flatMap(([maker, { models }]) => (models ? [{ maker, models }] : []));
const MAX_NAME = 200;

/** The provider whose model names match, with or without a provider prefix: `openai/gpt-4o`. */
export function makerOf(model: string): string | undefined {
  const name = model.slice(model.indexOf('/') + 1);
  if (name.length > MAX_NAME) return undefined;
  return MAKERS.find(({ models }) => models.test(name))?.maker;
}
