import { badRequest, type GwError } from '../errors.ts';
import { isEmpty, type Json } from './json.ts';

/** Errors for fields that the provider's API can't express. gw rejects them instead of dropping them silently. */
export interface Refusals {
  /** A GwError 400 that names the field. */
  cannotExpress(param: string, hint?: string): GwError;
  /** Throws GwError 400 if any remaining field of the object at `at` has a value. */
  refuseRest(rest: Json, at: string): void;
}

/** `target` completes the message `"x" has no equivalent in ...`. */
export function refusals(target: string): Refusals {
  const cannotExpress = (param: string, hint = '') =>
    badRequest(
      `"${param}" has no equivalent in ${target}${hint === '' ? '' : `: ${hint}`}. Change or remove it, or use another model`,
      param,
      'unsupported_parameter',
    );
  return {
    cannotExpress,
    refuseRest(rest, at) {
      const key = Object.keys(rest).find((each) => !isEmpty(rest[each]));
      if (key !== undefined) throw cannotExpress(`${at}.${key}`);
    },
  };
}
