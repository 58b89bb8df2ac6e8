import type { StrictApi } from './providers/strict.ts';
import type { ChatHost } from './providers/strict-chat.ts';
import { strictChat } from './providers/strict-chat.ts';
import { strictGemini } from './providers/strict-gemini.ts';
import { strictMessages } from './providers/strict-messages.ts';
import { strictResponses } from './providers/strict-responses.ts';

const NINE = /^[a-zA-Z0-9]{9}$/;

/** Hosts of chat completions by the names of their presets. */
const CHAT_HOSTS: Readonly<Record<string, ChatHost>> = {
  deepseek: { wantsBack: 'reasoning_content', reasoningIn: 'reasoning_content' },
  moonshot: {
    wantsBack: 'reasoning_content',
    reasoningIn: 'reasoning_content',
    usageIn: 'choice',
    makesId: (name, i) => `functions.${name}:${i}`,
  },
  google: {
    wantsBack: 'extra_content',
    plainSchemas: true,
    makesId: (_, i) => `function-call-${i}`,
  },
  mistral: {
    ids: NINE,
    userBehindTool: false,
    systemFirst: true,
    refuses: ['stream_options', 'user', 'service_tier', 'verbosity'],
    makesId: (_, i) => `abcdefg${10 + i}`,
  },
  groq: { reasoningIn: 'reasoning', refusesReasoning: true, usageIn: 'x_groq', strictTools: false },
  xai: { reasoningIn: 'reasoning_content', refusesReasoning: true },
  openrouter: { reasoningIn: 'reasoning_details', comments: true, refusesReasoning: true },
  zai: {
    reasoningIn: 'reasoning_content',
    strictTools: false,
    onlyAutoTools: true,
    maxStops: 1,
    refuses: ['stream_options', 'parallel_tool_calls', 'user'],
  },
  minimax: { reasoningIn: 'reasoning_details', strictTools: false, finishReason: 'stop' },
  dashscope: {
    reasoningIn: 'reasoning_content',
    strictTools: false,
    finishReason: '',
    breaksChatLibrary: true,
  },
  together: { reasoningIn: 'reasoning', finishReason: 'stop' },
  fireworks: { reasoningIn: 'reasoning_content' },
  cerebras: { refuses: ['user'], refusesReasoning: true },
  ollama: {
    argumentsAsObject: true,
    breaksChatLibrary: true,
    oneIndex: true,
    systemFirst: true,
    finishReason: 'stop',
    makesId: () => '',
  },
  copilot: {
    wantsBack: 'reasoning_opaque',
    reasoningIn: 'reasoning_text',
    splitsChoices: true,
    breaksChatLibrary: true,
  },
  lmstudio: { systemFirst: true },
  vllm: { reasoningIn: 'reasoning', systemFirst: true, makesId: (_, i) => `call_${i % 2}` },
  llamacpp: { systemFirst: true, argumentsAsObject: true, breaksChatLibrary: true },
};

export interface Host {
  name: string;
  model: string;
  breaksChatLibrary?: boolean | undefined;
  apis: () => StrictApi[];
}

const MODELS: Readonly<Record<string, string>> = { google: 'gemini-3-pro', moonshot: 'kimi-k2-thinking' };

/** Every provider with a dialect, and one of the user's own. */
export const HOSTS: readonly Host[] = [
  { name: 'openai', model: 'gpt-5.4', apis: () => [strictResponses(), strictChat({})] },
  { name: 'anthropic', model: 'claude-sonnet-4-5', apis: () => [strictMessages()] },
  { name: 'gemini', model: 'gemini-3-pro', apis: () => [strictGemini()] },
  ...Object.entries(CHAT_HOSTS).map(([name, host]) => ({
    name,
    model: MODELS[name] ?? `${name}-model`,
    breaksChatLibrary: host.breaksChatLibrary,
    apis: () => [strictChat(host)],
  })),
  { name: 'own', model: 'a-model', apis: () => [strictChat({ reasoningIn: 'reasoning_content' })] },
];
