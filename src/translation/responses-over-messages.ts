import { badRequest, GwError } from '../errors.ts';
import { chain } from './chain.ts';
import { messagesRequest } from './chat-over-messages/request.ts';
import { translateForChat } from './chat-over-messages/translator.ts';
import type { Json } from './json.ts';
import { chatRequest } from './responses-over-chat/request.ts';
import { translateForResponses } from './responses-over-chat/translator.ts';
import type { TranslateRequest, TranslationOptions, Translator } from './translator.ts';

/** A responses request as Anthropic's, by way of a chat completion. Throws GwError 400 by the client's names. */
export const messagesOfResponses: TranslateRequest = (responses, options) => {
  const chat = chatRequest(responses, { ...options, keepsThoughts: true });
  return inClientsWords(() => messagesRequest(chat, options));
};

export function translateMessagesForResponses(options: TranslationOptions): Translator {
  return chain(translateForChat({ ...options, wantsUsage: true }), translateForResponses(options));
}

/** What the fields of a chat completion are called in a responses request. */
const NAMES: Record<string, string> = {
  messages: 'input',
  reasoning_effort: 'reasoning.effort',
  response_format: 'text.format',
  verbosity: 'text.verbosity',
};

function inClientsWords(translate: () => Json): Json {
  try {
    return translate();
  } catch (error) {
    const [, field = ''] = /^(\w+)/.exec(error instanceof GwError ? (error.param ?? '') : '') ?? [];
    const name = Object.hasOwn(NAMES, field) ? NAMES[field] : undefined;
    if (!(error instanceof GwError) || name === undefined) throw error;
    throw badRequest(error.message.replaceAll(`"${error.param}"`, `"${name}"`), name, error.code);
  }
}
