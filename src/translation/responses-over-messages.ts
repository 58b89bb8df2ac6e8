import { badRequest, GwError } from '../errors.ts';
import { messagesRequest } from './chat-over-messages/request.ts';
import { translateForChat } from './chat-over-messages/translator.ts';
import { EMPTY, type Json, lookUp } from './json.ts';
import { chatRequest } from './responses-over-chat/request.ts';
import { translateForResponses } from './responses-over-chat/translator.ts';
import type { TranslateRequest, TranslationOptions, Translator } from './translator.ts';

/** Translates a responses request to Anthropic's API through a chat completion. Errors name the client's fields. */
export const messagesOfResponses: TranslateRequest = (responses, options) => {
  const chat = chatRequest(responses, { ...options, keepsReasoning: true });
  return withResponsesNames(() => messagesRequest(chat, options));
};

export function translateMessagesForResponses(options: TranslationOptions): Translator {
  return chain(translateForChat({ ...options, wantsUsage: true }), translateForResponses(options));
}

/** Field names in a responses request by their names in a chat completion. */
const RESPONSES_NAMES: Record<string, string> = {
  messages: 'input',
  reasoning_effort: 'reasoning.effort',
  response_format: 'text.format',
  verbosity: 'text.verbosity',
};

/** Runs a translation and replaces chat completion field names in its errors. */
function withResponsesNames(translate: () => Json): Json {
  try {
    return translate();
  } catch (error) {
    const [, field = ''] = /^(\w+)/.exec(error instanceof GwError ? (error.param ?? '') : '') ?? [];
    const name = lookUp(RESPONSES_NAMES, field);
    if (!(error instanceof GwError) || name === undefined) throw error;
    throw badRequest(error.message.replaceAll(`"${error.param}"`, `"${name}"`), name, error.code);
  }
}

/** Combines two translators: the second translates the output of the first. */
function chain(first: Translator, second: Translator): Translator {
  const translateNext = (events: Buffer) => (events.length === 0 ? EMPTY : second.events(events));
  return {
    answer: (body, status) => second.answer(first.answer(body, status), status),
    events: (events) => translateNext(first.events(events)),
    end: () => Buffer.concat([translateNext(first.end()), second.end()]),
  };
}
