import { readValue } from '../../json/scan.ts';
import { chatWire } from '../../wire/apis/chat.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { AnyRequestContext } from '../context/request-context.ts';

/** Endpoints whose answers nobody can ask for again. */
const PASSING =
  /^(moderations|audio\/(?:speech|transcriptions|translations)|images|rerank|messages\/count_tokens|responses\/input_tokens)(\/|$)/;

/**
 * Whether the provider stores the answer, so that its id is of use to others: responses unless `store` is false, chat
 * completions if it is true, and whatever another endpoint makes.
 */
export function storesAnswer({ wire, request }: AnyRequestContext): boolean {
  if (wire.unreported !== undefined) return !PASSING.test(wire.endpoint);
  const store = request.members.findLast(({ key }) => key === 'store');
  const value = store && readValue(request.bytes, store);
  return wire === responsesWire ? value !== false : wire === chatWire && value === true;
}
