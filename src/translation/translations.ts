import type { Provider } from '../providers/registry.ts';
import { chatWire } from '../wire/apis/chat.ts';
import { messagesWire } from '../wire/apis/messages.ts';
import { responsesWire } from '../wire/apis/responses.ts';
import type { Wire } from '../wire/wire.ts';
import { messagesRequest } from './chat-over-messages/request.ts';
import { translateForChat } from './chat-over-messages/translator.ts';
import { chatRequest } from './messages-over-chat/request.ts';
import { translateForMessages } from './messages-over-chat/translator.ts';
import { chatRequest as chatOfResponses } from './responses-over-chat/request.ts';
import { translateForResponses } from './responses-over-chat/translator.ts';
import { messagesOfResponses, translateMessagesForResponses } from './responses-over-messages.ts';
import type { TranslateRequest, TranslationOptions, Translator } from './translator.ts';

/** Translates between a client's API and a provider's API. */
export interface Translation {
  /** Reads the translated request and the provider's responses. */
  wire: Wire;
  translateRequest: TranslateRequest;
  translateAnswers(options: TranslationOptions): Translator;
}

/** By the client's endpoint and the provider's kind of API. Other endpoints are only served without translation. */
const TRANSLATIONS: Readonly<Record<string, Partial<Record<Provider['wire'], Translation>>>> = {
  [chatWire.endpoint]: {
    anthropic: {
      wire: recordedAs(chatWire, messagesWire),
      translateRequest: messagesRequest,
      translateAnswers: translateForChat,
    },
  },
  [messagesWire.endpoint]: {
    openai: {
      wire: recordedAs(messagesWire, chatWire),
      translateRequest: chatRequest,
      translateAnswers: translateForMessages,
    },
  },
  [responsesWire.endpoint]: {
    openai: {
      wire: recordedAs(responsesWire, chatWire),
      translateRequest: (body, options) => chatOfResponses(body, { ...options, keepsReasoning: false }),
      translateAnswers: translateForResponses,
    },
    anthropic: {
      wire: recordedAs(responsesWire, messagesWire),
      translateRequest: messagesOfResponses,
      translateAnswers: translateMessagesForResponses,
    },
  },
};

/** The upstream wire, recorded under the client's endpoint. */
function recordedAs({ endpoint }: Wire, upstream: Wire): Wire {
  return { ...upstream, endpoint };
}

export function findTranslation(endpoint: string, family: Provider['wire']): Translation | undefined {
  return TRANSLATIONS[endpoint]?.[family];
}
