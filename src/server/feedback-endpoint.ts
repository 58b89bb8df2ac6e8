import type { IncomingMessage } from 'node:http';
import { badRequest } from '../errors.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { isObject } from '../json/object.ts';
import type { Caller } from '../store/accounts/callers.ts';
import type { Db } from '../store/database/open.ts';
import { createFeedbackStore } from '../store/requests/feedback.ts';
import type { LoggedRequest } from '../store/requests/request-log.ts';
import { readJson } from './read-json.ts';
import { ownRequest } from './request-endpoint.ts';

/** `POST /v1/requests/{id}/feedback`: says how good an answer was. Throws GwError 400 and 404. */
export function feedbackEndpoint(
  db: Db,
  { ledger, lessons }: Pick<Gateway, 'ledger' | 'lessons'>,
): (caller: Caller, id: string, request: IncomingMessage) => Promise<Record<string, unknown>> {
  const store = createFeedbackStore(db);
  return async (caller, id, request) => {
    const score = scoreIn(await readJson(request));
    const found = await ownRequest(caller, id, db);
    await ledger.write(() => store(found.id, score));
    const heard = lessons.told(found.id, score);
    const because = heard === 'not_remembered' ? whyUnknown(found) : heard;
    const learnt = because === 'learnt';
    return { object: 'feedback', request_id: id, score, learnt, ...(learnt ? {} : { because }) };
  };
}

/** Why there is no prompt to learn from; those of answers given before a restart are remembered no more. */
function whyUnknown({ outcome, detail }: LoggedRequest): 'no_answer' | 'no_tiers' | 'not_remembered' {
  if (outcome !== 'ok') return 'no_answer';
  return detail.tier === undefined ? 'no_tiers' : 'not_remembered';
}

/** `{"score": 0.7}` or `{"good": true}`. */
function scoreIn(body: unknown): number {
  const given = isObject(body) ? body : {};
  const unknown = Object.keys(given).find((key) => key !== 'score' && key !== 'good');
  if (unknown !== undefined) {
    throw badRequest(`"${unknown}" is not a field: there are score and good`, unknown, 'unknown_parameter');
  }
  const { score, good } = given;
  if (score !== undefined && good !== undefined)
    throw badRequest('give "score" or "good", not both', 'score');
  if (typeof good === 'boolean') return good ? 1 : 0;
  if (typeof score === 'number' && score >= 0 && score <= 1) return score;
  throw badRequest(
    'say how good the answer was: {"score": 0 to 1} or {"good": true or false}',
    good === undefined ? 'score' : 'good',
  );
}
