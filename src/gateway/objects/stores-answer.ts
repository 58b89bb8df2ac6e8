import { readValue } from '../../json/scan.ts';
import { chatWire } from '../../wire/apis/chat.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { AnyRequestContext } from '../context/request-context.ts';

/**
 * Whether the provider stores the answer, so that its id is of use to others: responses unless `store` is false, chat
 * completions if it is true, and whatever another endpoint makes.
 */
export function storesAnswer({ wire, request }: AnyRequestContext): boolean {
  if (wire.unreported !== undefined) return true;
  const store = request.members.findLast(({ key }) => key === 'store');
  const value = store && readValue(request.bytes, store);
  return wire === responsesWire ? value !== false : wire === chatWire && value === true;
}
