import { badRequest, type GwError } from '../../errors.ts';
import { isEmpty, type Json } from '../json.ts';

/** A 400 that names what a chat completion has no word for. */
export function cannotExpress(param: string, hint = ''): GwError {
  return badRequest(
    `"${param}" cannot be expressed as a chat completion, and this model's provider has no /v1/responses${hint === '' ? '' : `: ${hint}`}`,
    param,
    'unsupported_parameter',
  );
}

/** Refuses what is left of an object and says something. */
export function refuseRest(rest: Json, at: string): void {
  const left = Object.keys(rest).find((key) => !isEmpty(rest[key]));
  if (left !== undefined) throw cannotExpress(`${at}.${left}`);
}
