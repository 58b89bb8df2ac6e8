import { hash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { applyEdits } from '../../json/edit.ts';
import {
  type CountEndpoint,
  countBody,
  countEndpoint,
  countIn,
  countsFields,
} from '../../providers/token-count.ts';
import { withoutHeaders } from '../../raw-headers.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { mayAnswerOther } from '../../wire/request/surcharges.ts';
import { promptOf, unseenIn } from '../admission/measure-prompt.ts';
import { isChangingName, scopeOf } from '../admission/prompt-scope.ts';
import { type CountPlan, type PlanParts, planCount } from '../admission/provider-count.ts';
import type { InputCounter } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import { meansNoEndpoint } from '../state/responses-support.ts';
import type { UpstreamPools } from '../state/upstream-pools.ts';
import { bodyEdits, guardedChannel } from './build-request.ts';
import { send, type UpstreamRequest } from './send.ts';

export interface InputCounterOptions extends PlanParts {
  clock: Pick<Clock, 'after' | 'monotonic'>;
  upstreams: Pick<UpstreamPools, 'of'>;
}

/** A refused client has to hear of it soon. */
const DEADLINE_MS = 2_000;
/** An endpoint that doesn't exist is not asked again for so long ... */
const MISSING_MS = 3_600_000;
/** ... and after so many failures in a row, for so long. */
const MAX_FAILURES = 3;
const PAUSE_MS = 60_000;
/** A name without a date may be given to another model, so a count is remembered for an hour; 200 kB at most. */
const REMEMBERED_MS = 3_600_000;
const MAX_REMEMBERED = 1_000;

interface Remembered {
  tokens: number;
  expiresAt: number;
}

/** State of an endpoint. */
interface Health {
  failures: number;
  pausedUntil: number;
}

/** Asks the providers' count endpoints. */
export function createInputCounter({ clock, upstreams, ...parts }: InputCounterOptions): InputCounter {
  const remembered = new Map<string, Remembered>();
  const running = new Map<string, Promise<number | undefined>>();
  const healths = new Map<string, Health>();

  function endpointFor({ wire }: RequestContext, target: Target): CountEndpoint | undefined {
    const endpoint = countEndpoint(target.provider, wire.path);
    const isPaused =
      endpoint && (healths.get(healthKey(target, endpoint))?.pausedUntil ?? 0) > clock.monotonic();
    return isPaused ? undefined : endpoint;
  }

  async function count(context: RequestContext, target: Target, key: string): Promise<number | undefined> {
    const endpoint = endpointFor(context, target);
    const plan = endpoint && planCount(parts, context, target);
    const request = plan && countRequest(context, target, endpoint, plan);
    if (!request) return undefined;
    const { status, body } = await gather(request, target);
    const counted = status === 200 ? countIn(parseObject(body)) : undefined;
    noteHealth(healthKey(target, endpoint), counted, status, body);
    if (counted === undefined) return undefined;
    const tokens = plan.boundOf(counted);
    if (remembered.size >= MAX_REMEMBERED)
      for (const oldest of remembered.keys()) if (remembered.delete(oldest)) break;
    remembered.set(key, { tokens, expiresAt: clock.monotonic() + REMEMBERED_MS });
    return tokens;
  }

  function noteHealth(key: string, counted: number | undefined, status: number, body: string): void {
    if (counted !== undefined) {
      healths.delete(key);
      return;
    }
    const failures = (healths.get(key)?.failures ?? 0) + 1;
    const isMissing = meansNoEndpoint(status, body) || (status === 400 && NO_COUNTS.test(body));
    const pauseMs = isMissing ? MISSING_MS : failures >= MAX_FAILURES ? PAUSE_MS : 0;
    healths.set(key, { failures, pausedUntil: clock.monotonic() + pauseMs });
  }

  /** Status 0 without an answer in time. */
  async function gather(
    request: UpstreamRequest,
    { provider }: Target,
  ): Promise<{ status: number; body: string }> {
    const chunks: Buffer[] = [];
    let status = 0;
    const call = send(upstreams.of(provider), request, {
      head: (received) => {
        status = received;
      },
      data: (chunk) => chunks.push(Buffer.from(chunk)) < MAX_CHUNKS || cut(),
    });
    const cut = (): boolean => {
      call.abort();
      return true;
    };
    const cancel = clock.after(DEADLINE_MS, cut);
    const { kind } = await call.end;
    cancel();
    return kind === 'complete'
      ? { status, body: Buffer.concat(chunks).toString('utf8') }
      : { status: 0, body: '' };
  }

  return {
    mayAsk: (context, target) => {
      const endpoint = endpointFor(context, target);
      return endpoint !== undefined && isCountable(context, target, endpoint);
    },
    recall(context, target) {
      const known = remembered.get(keyOf(context, target));
      return known && known.expiresAt > clock.monotonic() ? known.tokens : undefined;
    },
    ask(context, target) {
      const key = keyOf(context, target);
      const known = this.recall(context, target);
      if (known !== undefined) return Promise.resolve(known);
      const before = running.get(key);
      if (before) return before;
      const asked = count(context, target, key).finally(() => running.delete(key));
      running.set(key, asked);
      return asked;
    },
  };
}

/** Longer answers are no counts. */
const MAX_CHUNKS = 64;

/** Bedrock's words for a model that it doesn't count for: https://github.com/pydantic/pydantic-ai/issues/4001 */
const NO_COUNTS = /doesn't support counting tokens/;

/** A cloud has counts for some models only. */
const healthKey = ({ provider, model }: Target, { pathOf }: CountEndpoint): string =>
  provider.origin + provider.basePath + pathOf(model) + (provider.cloud ? ` ${model}` : '');

/**
 * Input that a count doesn't cover, or that may be another by the time the request is sent: content by address, what
 * providers store, and tools of theirs, of which only the first round is counted.
 */
const UNCOUNTED =
  /"type"\s*:\s*"(?:url|file|container_upload|item_reference|compact\w*|mcp_\w+|server_tool_use|\w+_tool_result|tool_search\w*|advisor\w*)"|"(?:image_url|file_url)"\s*:\s*"(?!data:)|"file_id"\s*:/;
const THINKING = /"type"\s*:\s*"(?:redacted_)?thinking"|"thought_?signature"\s*:/i;

function isCountable(context: RequestContext, target: Target, endpoint: CountEndpoint): boolean {
  const { request } = context;
  if (request.serverTools || mayAnswerOther(request.surcharges) || isChangingName(target)) return false;
  if (unseenIn(context)?.isInline === false) return false;
  const fields = request.members.map(({ key }) => key).filter((key) => key !== 'service');
  if (!countsFields(endpoint, fields)) return false;
  const text = request.bytes.toString('latin1');
  // Thinking can be bounded only where the prompt can be split.
  return !UNCOUNTED.test(text) && (promptOf(context) !== undefined || !THINKING.test(text));
}

/** Equal for prompts that are equal to the model. Claude Code's line for the bill differs each time. */
function keyOf(context: RequestContext, target: Target): string {
  const { request, exchange } = context;
  const prompt = promptOf(context);
  const scope = prompt && scopeOf(context, target, prompt);
  const read = prompt?.blocks.filter(({ kind }) => kind !== 'notice').map(({ id }) => id);
  const parts = scope
    ? [scope, read]
    : [
        target.provider.origin,
        target.provider.authHeaders,
        target.model,
        exchange.target,
        exchange.request.headers['anthropic-beta'],
        exchange.request.headers['openai-beta'],
        hash('sha256', request.bytes),
      ];
  return hash('sha256', JSON.stringify(parts), 'base64');
}

/** A provider takes the key of a retried request for that of another one. */
const OWN_HEADERS = new Set(['idempotency-key']);

/** The request as it will go out, without the fields that the endpoint refuses, or one with the text of the plan. */
function countRequest(
  context: RequestContext,
  target: Target,
  endpoint: CountEndpoint,
  { text }: CountPlan,
): UpstreamRequest | undefined {
  const { request } = context;
  const { provider, model } = target;
  const body =
    text === undefined
      ? countBody(applyEdits(request.bytes, bodyEdits(context, target)), endpoint, model)
      : Buffer.from(JSON.stringify(endpoint.ofText(model, text)));
  const { query, headers } = guardedChannel(context, target);
  return (
    body && {
      path: provider.basePath + endpoint.pathOf(model) + query,
      headers: withoutHeaders(headers, OWN_HEADERS),
      body,
    }
  );
}
