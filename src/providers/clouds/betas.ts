import { JsonSyntaxError, readValue, scanObject } from '../../json/scan.ts';
import { withoutHeaders } from '../../raw-headers.ts';
import type { BetaFilter, CloudRequest } from './cloud.ts';

const HEADER = 'anthropic-beta';
/**
 * Bedrock says "invalid beta flag" (https://github.com/anthropics/claude-code/issues/49370), Vertex AI "Unexpected value(s)
 * `a`, `b` for the `anthropic-beta` header" (https://github.com/anthropics/claude-code/issues/34802).
 */
const REFUSAL = /invalid beta flag|for the `anthropic-beta` header/i;
/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html */
const OF_BEDROCK: ReadonlySet<string> = new Set([
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
]);

/** Clouds learn betas within weeks. */
const REMEMBERED_MS = 3_600_000;
const MAX_MODELS = 100;
const MAX_SETS = 20;

/**
 * Learns the betas that models refuse. Where the refusal names none, all that were dropped are one set: others may use one
 * of them that the model takes.
 */
export function createBetaFilter(now: () => number = Date.now): BetaFilter {
  const refused = new Map<string, { sets: readonly string[][]; until: number }>();
  return {
    withoutRefused(request) {
      if (refused.size === 0 || betasOf(request).length === 0) return request;
      const known = refused.get(modelOf(request));
      return known && known.until > now() ? without(request, known.sets) : request;
    },
    afterRefusal(status, body, request) {
      if (status !== 400 || !REFUSAL.test(body)) return undefined;
      const betas = betasOf(request);
      const named = betas.filter((beta) => body.includes(beta));
      const foreign = betas.filter((beta) => !OF_BEDROCK.has(beta));
      const dropped = [named, foreign, betas].find((each) => each.length > 0);
      if (!dropped) return undefined;
      const model = modelOf(request);
      for (const oldest of refused.keys()) if (refused.size < MAX_MODELS || refused.delete(oldest)) break;
      const sets = dropped === named ? named.map((beta) => [beta]) : [dropped];
      const all = [...(refused.get(model)?.sets ?? []), ...sets].slice(-MAX_SETS);
      refused.set(model, { sets: all, until: now() + REMEMBERED_MS });
      return without(request, sets);
    },
  };
}

/** The betas that a request asks for. */
export const betasOf = ({ headers }: CloudRequest): string[] =>
  headers.flatMap((value, i) =>
    i % 2 === 1 && headers[i - 1] === HEADER
      ? value
          .split(',')
          .map((beta) => beta.trim())
          .filter((beta) => beta !== '')
      : [],
  );

/** Leaves out each set of betas that the request has all of. */
function without(request: CloudRequest, sets: readonly string[][]): CloudRequest {
  const left = sets.reduce(
    (betas, set) =>
      set.every((beta) => betas.includes(beta)) ? betas.filter((beta) => !set.includes(beta)) : betas,
    betasOf(request),
  );
  const others = withoutHeaders(request.headers, new Set([HEADER]));
  return { ...request, headers: left.length > 0 ? [...others, HEADER, left.join(',')] : others };
}

/** '' for a body without one. */
function modelOf({ body }: CloudRequest): string {
  try {
    const member = body && scanObject(body).find(({ key }) => key === 'model');
    const model = member && readValue(body, member);
    return typeof model === 'string' ? model : '';
  } catch (error) {
    if (error instanceof JsonSyntaxError) return '';
    throw error;
  }
}
