import { GwError, messageOf } from '../../errors.ts';

/** The error for an answer that can't be translated. A GwError is returned as it is. */
export function refusalOf(cause: unknown): GwError {
  if (cause instanceof GwError) return cause;
  return new GwError(`the provider's answer cannot be translated (${messageOf(cause)})`, {
    status: 502,
    type: 'api_error',
    code: 'upstream_failed',
    cause,
  });
}
