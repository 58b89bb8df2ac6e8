import type { Dice } from '../fuzz/dice.ts';

/** A request of an agent, in the words of its API. */
export interface AgentRequest {
  path: string;
  body: object;
  headers: Record<string, string>;
}

/** A conversation that grows by a turn a request. */
export interface Session {
  id: string;
  turns: { role: 'user' | 'assistant'; text: string }[];
}

const APIS = ['chat', 'messages', 'responses', 'gemini'] as const;
type Api = (typeof APIS)[number];

/** Models that clients name: at each provider, and one with two targets. */
const MODELS = ['openai/m', 'anthropic/m', 'mock/m', 'team'];

const WORDS = 'the build fails after the merge because one test reads a clock that nobody set'.split(' ');
const SCRIPTS = ['设置时钟后再试一次。', 'Попробуйте ещё раз.', 'もう一度やり直す。'];

/** In UTF-8, which headers carry as bytes. */
const CUSTOMERS = ['acme', Buffer.from('zoë').toString('latin1'), 'initech'];

/** The next request of an agent's session: a new one begins now and then, as contexts end. */
export function nextRequest(dice: Dice, sessions: Session[]): AgentRequest {
  const session = dice.pick(sessions);
  if (session.turns.length > 12 || dice.chance(0.1)) {
    session.turns = [];
    session.id = `session-${dice.below(1e9)}`;
  }
  session.turns.push({ role: 'user', text: textOf(dice) });
  const api = dice.pick(APIS);
  const model = dice.pick(MODELS);
  const limit = dice.chance(0.6) ? 20 + dice.below(1_500) : undefined;
  const request = REQUESTS[api](model, session, { stream: dice.chance(0.6), limit });
  session.turns.push({ role: 'assistant', text: 'The quick brown fox jumps over the lazy dog.' });
  return {
    ...request,
    headers: {
      'x-session-id': session.id,
      'x-service-labels': `customer=${dice.pick(CUSTOMERS)}`,
      ...request.headers,
    },
  };
}

function textOf(dice: Dice): string {
  const words = Array.from({ length: 5 + dice.below(200) }, () => dice.pick(WORDS)).join(' ');
  return dice.chance(0.2) ? `${words} ${dice.pick(SCRIPTS)}` : words;
}

interface Options {
  stream: boolean;
  limit: number | undefined;
}

const REQUESTS: Record<Api, (model: string, session: Session, options: Options) => AgentRequest> = {
  chat: (model, { turns }, { stream, limit }) => ({
    path: '/v1/chat/completions',
    headers: {},
    body: {
      model,
      stream,
      ...(limit === undefined ? {} : { max_tokens: limit }),
      messages: turns.map(({ role, text }) => ({ role, content: text })),
    },
  }),
  messages: (model, { turns }, { stream, limit = 1_024 }) => ({
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    body: {
      model,
      stream,
      max_tokens: limit,
      system: 'You are a careful engineer.',
      messages: turns.map(({ role, text }) => ({ role, content: text })),
    },
  }),
  responses: (model, { turns }, { stream, limit }) => ({
    path: '/v1/responses',
    headers: {},
    body: {
      model,
      stream,
      store: false,
      ...(limit === undefined ? {} : { max_output_tokens: limit }),
      input: turns.map(({ role, text }) => ({ role, content: text })),
    },
  }),
  gemini: (model, { turns }, { stream, limit }) => ({
    path: `/v1beta/models/${model === 'team' ? 'team' : 'solo'}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    headers: {},
    body: {
      contents: turns.map(({ role, text }) => ({
        role: role === 'user' ? 'user' : 'model',
        parts: [{ text }],
      })),
      ...(limit === undefined ? {} : { generationConfig: { maxOutputTokens: limit } }),
    },
  }),
};
