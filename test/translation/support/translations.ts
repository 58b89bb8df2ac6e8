import { UNKNOWN } from '../../../src/providers/dialects/dialects.ts';
import { createItemMemories, type ItemMemory } from '../../../src/translation/carry/item-memory.ts';
import type { Api, BodyOptions } from '../../../src/translation/context.ts';
import type { Json } from '../../../src/translation/json.ts';
import { translateAnswers, translateBody } from '../../../src/translation/translate.ts';

const CHAT: Api = 'chat/completions';

interface Options extends Partial<BodyOptions> {
  memory?: ItemMemory;
  leaveOut?: (param: string) => void;
}

/** Returns a function that translates a request's JSON. */
const requestsOf =
  (from: Api, to: Api) =>
  (body: object, { memory = createItemMemories()(1), leaveOut, ...options }: Options = {}): Json => {
    const all: BodyOptions = {
      provider: 'mock',
      model: 'm',
      maxTokens: 4096,
      outputLimit: 'max_tokens',
      dialect: {},
      isCodex: false,
      ...options,
    };
    const translated = translateBody(Buffer.from(JSON.stringify(body)), { from, to }, all, memory);
    for (const param of translated.leftOut) leaveOut?.(param);
    return JSON.parse(String(translated.bytes)) as Json;
  };

/** Returns a function that makes a translator of answers. */
const answersOf =
  (from: Api, to: Api) =>
  (options: Partial<Parameters<typeof translateAnswers>[1]> = {}) =>
    translateAnswers(
      { from, to },
      {
        provider: 'mock',
        model: 'm',
        wantsUsage: true,
        now: () => 0,
        request: {},
        names: [],
        callIds: [],
        dialect: UNKNOWN,
        newId: (prefix) => `${prefix}_1`,
        memory: createItemMemories()(1),
        ...options,
      },
    );

export const chatForMessages = {
  request: requestsOf('messages', CHAT),
  answers: answersOf('messages', CHAT),
};
export const messagesForChat = {
  request: requestsOf(CHAT, 'messages'),
  answers: answersOf(CHAT, 'messages'),
};
export const chatForResponses = {
  request: requestsOf('responses', CHAT),
  answers: answersOf('responses', CHAT),
};
export const messagesForResponses = {
  request: requestsOf('responses', 'messages'),
  answers: answersOf('responses', 'messages'),
};
export const responsesForMessages = {
  request: requestsOf('messages', 'responses'),
  answers: answersOf('messages', 'responses'),
};
export const responsesForChat = {
  request: requestsOf(CHAT, 'responses'),
  answers: answersOf(CHAT, 'responses'),
};
export const geminiForMessages = {
  request: requestsOf('messages', 'gemini'),
  answers: answersOf('messages', 'gemini'),
};
export const geminiForChat = { request: requestsOf(CHAT, 'gemini'), answers: answersOf(CHAT, 'gemini') };
export const chatForGemini = { request: requestsOf('gemini', CHAT), answers: answersOf('gemini', CHAT) };
