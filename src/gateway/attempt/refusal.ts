import { GwError, messageOf } from '../../errors.ts';

/** What the client is told when the provider's answer can't be translated; a GwError stands for itself. */
export function refusalOf(cause: unknown): GwError {
  if (cause instanceof GwError) return cause;
  return new GwError(`the provider's answer cannot be translated (${messageOf(cause)})`, {
    status: 502,
    type: 'api_error',
    code: 'upstream_failed',
    cause,
  });
}
