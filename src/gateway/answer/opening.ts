import { headerOf } from '../../raw-headers.ts';
import type { Redactor } from '../../redact.ts';
import { type AnswerHead, answerHead, messageIdIn, namesModel } from '../../wire/answer/served-model.ts';
import type { Relay } from './relay.ts';

type Opening = Pick<Relay, 'isStream' | 'firstEvents' | 'unsent'>;

/** The part of an answer with its model and id: a stream's first events, or all of it; undefined if unreadable. */
const openingOf = (relay: Opening): Buffer | undefined => (relay.isStream ? relay.firstEvents : relay.unsent);

/** The model and the id that an answer states; undefined if it names no model. */
export function headOf(relay: Opening): AnswerHead | undefined {
  const answer = openingOf(relay);
  return answer && answerHead(answer, relay.isStream);
}

/** Whether an answer certainly names exactly this model: a quick check, without parsing it. */
export function isFrom(relay: Opening, model: string): boolean {
  const answer = openingOf(relay);
  return answer !== undefined && namesModel(answer, model);
}

/** The provider's id of a good answer; empty if it has none or can't be read. */
export function upstreamMessageId(relay: Relay, credential: Redactor): string {
  if (relay.status >= 300) return '';
  const answer = openingOf(relay);
  return answer ? credential.redact(messageIdIn(answer, relay.isStream)) : '';
}

const MAX_LENGTH = 128;

/** The provider's id of the request, by the header that OpenAI and Anthropic send; empty without one. */
export function upstreamRequestId({ headers }: Relay): string {
  const id = headerOf(headers, 'x-request-id') ?? headerOf(headers, 'request-id') ?? '';
  return id.length <= MAX_LENGTH ? id : '';
}
