import type { IncomingMessage } from 'node:http';
import { badRequest } from '../errors.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { isObject } from '../json/object.ts';
import type { Caller } from '../store/accounts/callers.ts';
import type { Db } from '../store/database/open.ts';
import { createFeedbackStore } from '../store/requests/feedback.ts';
import { readJson } from './read-json.ts';
import { ownRequest } from './request-endpoint.ts';

/** `POST /v1/requests/{id}/feedback`: rates an answer, on its record. Throws GwError 400 and 404. */
export function feedbackEndpoint(
  db: Db,
  { ledger }: Pick<Gateway, 'ledger'>,
): (caller: Caller, id: string, request: IncomingMessage) => Promise<Record<string, unknown>> {
  const store = createFeedbackStore(db);
  return async (caller, id, message) => {
    const score = parseScore(await readJson(message));
    const request = await ownRequest(caller, id, db);
    await ledger.write(() => store(request.id, score));
    // gw 0.2.0 learnt from ratings; its clients may read the field.
    return { object: 'feedback', request_id: id, score, learnt: false, because: 'no_learner' };
  };
}

/** The score in `{"score": 0.7}` or `{"good": true}`. */
function parseScore(body: unknown): number {
  const fields = isObject(body) ? body : {};
  const unknown = Object.keys(fields).find((key) => key !== 'score' && key !== 'good');
  if (unknown !== undefined) {
    throw badRequest(`unknown field "${unknown}": use score or good`, unknown, 'unknown_parameter');
  }
  const { score, good } = fields;
  if (score !== undefined && good !== undefined)
    throw badRequest('both "score" and "good" are set: use one of them', 'score');
  if (typeof good === 'boolean') return good ? 1 : 0;
  if (typeof score === 'number' && score >= 0 && score <= 1) return score;
  throw badRequest(
    'the body has no valid rating: use {"score": 0.7}, from 0 to 1, or {"good": true}',
    good === undefined ? 'score' : 'good',
  );
}
