/** Google's names of errors by HTTP status: https://ai.google.dev/gemini-api/docs/troubleshooting */
const NAMES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  // As for an account without billing, which no retry helps.
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** An error in the shape of Google's APIs: https://cloud.google.com/apis/design/errors */
export function googleError(
  message: string,
  code: number,
): { code: number; message: string; status: string } {
  return { code, message, status: NAMES[code] ?? (code < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL') };
}
