import type { Dialect } from './dialect.ts';

/** https://api-docs.deepseek.com/guides/thinking_mode */
export const DEEPSEEK: Dialect = { reasoning: 'required' };

/** https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model */
export const MOONSHOT: Dialect = { reasoning: 'required' };

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
export const GOOGLE: Dialect = SIGNATURES;

/**
 * Reasoning models keep their reasoning between calls only in responses, gpt-5.4 and later take tools in no other API, and
 * some models have no other: https://developers.openai.com/api/docs/guides/migrate-to-responses
 */
export const OPENAI: Dialect = {
  responses: {
    always: /codex|-pro(?:-\d|$)|deep-research/,
    withTools: /^(?:gpt-(?:[5-9]|\d\d)|o[1-9](?:-|$))/,
  },
};

export const VLLM: Dialect = { reasoning: 'kept' };

/** A provider of the user's own takes what it is sent back. */
export const UNKNOWN: Dialect = { reasoning: 'kept', ...SIGNATURES };
