import { chatWire } from '../chat.ts';
import { messagesWire } from '../messages.ts';
import type { Wire } from '../wire.ts';
import { messagesRequest } from './chat-over-messages/request.ts';
import { translateForChat } from './chat-over-messages/translator.ts';
import { chatRequest } from './messages-over-chat/request.ts';
import { translateForMessages } from './messages-over-chat/translator.ts';
import type { TranslateRequest, Translator, TranslatorOptions } from './translator.ts';

/** How a client of one wire talks to a provider of the other. */
export interface Crossing {
  /** What goes upstream; in records it keeps the endpoint that the client used. */
  wire: Wire;
  translateRequest: TranslateRequest;
  translateAnswers(options: TranslatorOptions): Translator;
}

/** By the client's endpoint. A wire that is not here reaches only providers that speak it. */
export const CROSSINGS: ReadonlyMap<string, Crossing> = new Map([
  [
    chatWire.endpoint,
    {
      wire: { ...messagesWire, endpoint: chatWire.endpoint },
      translateRequest: messagesRequest,
      translateAnswers: translateForChat,
    },
  ],
  [
    messagesWire.endpoint,
    {
      wire: { ...chatWire, endpoint: messagesWire.endpoint },
      translateRequest: chatRequest,
      translateAnswers: translateForMessages,
    },
  ],
]);
