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

/** How a client of one wire talks to a provider of another. */
export interface Translation {
  /** What goes upstream. */
  wire: Wire;
  translateRequest: TranslateRequest;
  translateAnswers(options: TranslationOptions): Translator;
}

/** By the client's endpoint and the provider's wire. One that is not here reaches only providers that have it. */
const CROSSINGS: Readonly<Record<string, Partial<Record<Provider['wire'], Translation>>>> = {
  [chatWire.endpoint]: {
    anthropic: {
      wire: as(chatWire, messagesWire),
      translateRequest: messagesRequest,
      translateAnswers: translateForChat,
    },
  },
  [messagesWire.endpoint]: {
    openai: {
      wire: as(messagesWire, chatWire),
      translateRequest: chatRequest,
      translateAnswers: translateForMessages,
    },
  },
  [responsesWire.endpoint]: {
    openai: {
      wire: as(responsesWire, chatWire),
      translateRequest: (body, options) => chatOfResponses(body, { ...options, keepsThoughts: false }),
      translateAnswers: translateForResponses,
    },
    anthropic: {
      wire: as(responsesWire, messagesWire),
      translateRequest: messagesOfResponses,
      translateAnswers: translateMessagesForResponses,
    },
  },
};

/** What goes upstream keeps, in records, the endpoint that the client used. */
function as({ endpoint }: Wire, sent: Wire): Wire {
  return { ...sent, endpoint };
}

export function findTranslation(endpoint: string, to: Provider['wire']): Translation | undefined {
  return CROSSINGS[endpoint]?.[to];
}
