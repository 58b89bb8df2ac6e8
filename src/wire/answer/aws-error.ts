/** Errors of Bedrock by HTTP status: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
const NAMES: Readonly<Record<number, string>> = {
  401: 'AccessDeniedException',
  // Clients of AWS don't repeat it.
  402: 'ServiceQuotaExceededException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
  504: 'ModelTimeoutException',
  529: 'ServiceUnavailableException',
};

/** An error as clients of Bedrock read it. */
export function awsError(message: string, status: number): { message: string; __type: string } {
  const other = status < 500 ? 'ValidationException' : 'InternalServerException';
  return { message, __type: NAMES[status] ?? other };
}
