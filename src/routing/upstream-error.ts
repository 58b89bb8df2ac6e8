/**
 * The error in an upstream's response, from any API:
 * OpenAI and Azure `{error:{message,type,code}}`, Anthropic `{type:'error',error:{type,message}}`,
 * OpenRouter `{error:{code:429,message,metadata}}`, Gemini `{error:{code,message,status,details}}` or a list of that.
 */
export interface UpstreamError {
  message: string;
  /** All codes, types and statuses in the error, in lower case. */
  names: string[];
  /** HTTP status stated in the error itself. Within a stream it is the only status. */
  status?: number;
  /** Gemini's RetryInfo, in milliseconds. */
  retryDelayMs?: number;
}

type Fields = Record<string, unknown>;

/** Finds the error in a parsed body. Undefined if there is none. */
export function readUpstreamError(body: unknown): UpstreamError | undefined {
  const outer = fieldsOf(Array.isArray(body) ? body[0] : body);
  if (!outer)
    return typeof body === 'string' && body !== '' ? { message: body.slice(0, 2_000), names: [] } : undefined;
  if (typeof outer.error === 'string') return { message: outer.error, names: [] };
  const error = fieldsOf(outer.error) ?? (isBareError(outer) ? outer : undefined);
  if (!error) return undefined;
  const status = statusOf(error.code) ?? statusOf(error.status) ?? statusOf(outer.statusCode);
  const retryDelayMs = retryDelayOf(error.details);
  return {
    message: textOf(error.message),
    names: namesOf(error),
    ...(status === undefined ? {} : { status }),
    ...(retryDelayMs === undefined ? {} : { retryDelayMs }),
  };
}

/** Azure's gateway responds with `{statusCode,message}`, without an `error` around it. */
function isBareError(outer: Fields): boolean {
  return typeof outer.message === 'string' && ('statusCode' in outer || 'code' in outer);
}

function namesOf(error: Fields): string[] {
  const inner = fieldsOf(error.innererror) ?? fieldsOf(error.inner_error);
  const metadata = fieldsOf(error.metadata);
  const details = listOf(error.details).map(fieldsOf);
  const names = [error.code, error.type, error.status, inner?.code, metadata?.limit_source];
  for (const detail of details) names.push(detail?.reason);
  // OpenRouter reports input refused by moderation with these fields, not with a code.
  if (metadata && ('flagged_input' in metadata || 'reasons' in metadata)) names.push('content_filter');
  return names.filter((name) => typeof name === 'string').map((name) => name.toLowerCase());
}

function retryDelayOf(details: unknown): number | undefined {
  for (const detail of listOf(details).map(fieldsOf)) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(textOf(detail?.retryDelay))?.[1];
    if (seconds !== undefined) return Number(seconds) * 1_000;
  }
  return undefined;
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status <= 599 ? status : undefined;
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
