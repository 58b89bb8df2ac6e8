import { OPEN_BRACKET, type Range } from '../../json/bytes.ts';
import { applyEdits, type Edit, insertMember, removeElements, replaceValue } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { JsonSyntaxError, readValue, scanArray, scanObject } from '../../json/scan.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { Provider } from '../../providers/registry.ts';
import { ownSignatures } from '../../translation/apis/gemini/signature.ts';
import { isOwnReasoning, OWN_REASONING_MARK } from '../../translation/carry/envelope.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Admitted, AdmittedRequest } from '../admission/admitted.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext, RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import { type Beside, passingQuery } from './closed-lists.ts';
import { upstreamHeaders } from './headers.ts';
import { lostThinkingEdits } from './lost-thinking.ts';
import { maxPriceEdits } from './openrouter-max-price.ts';
import type { UpstreamRequest } from './send.ts';

/** Builds the HTTP request for the provider. */
export function buildRequest(
  gateway: Pick<Gateway, 'settings' | 'objects'>,
  admittedRequest: AdmittedRequest,
): UpstreamRequest {
  const { context, target } = admittedRequest;
  const { wire, request } = context;
  const { provider, model } = target;
  const { query, headers } = channelTo(gateway, admittedRequest);
  return {
    path: provider.basePath + (wire.pathOf?.(request, model) ?? wire.path + query),
    headers,
    body: applyEdits(request.bytes, editsFor(gateway, admittedRequest)),
  };
}

/** The part of a client's query and headers that goes to a provider. A query goes only to one that speaks the client's API. */
interface Channel {
  query: string;
  headers: string[];
}

/** Closed lists apply where a budget, a key's models or another project is at stake. */
export function channelTo(
  { objects, settings }: Pick<Gateway, 'objects' | 'settings'>,
  { context, target, admitted }: { context: AnyRequestContext; target: Target; admitted: Admitted },
): Channel {
  const isGuarded = admitted.remaining !== null || context.caller.models !== null || objects.shared();
  return isGuarded
    ? guardedChannel(context, target, settings()['passthrough.names'].names)
    : channel(context, target);
}

/** Fields that the closed lists or the owner's `names` allow. The record names the rest. */
export function guardedChannel(
  context: AnyRequestContext,
  target: Target,
  names: ReadonlySet<string> = new Set(),
): Channel {
  const leftOut = new Set(context.leftOut);
  const passing = channel(context, target, { names, leaveOut: (name) => void leftOut.add(name) });
  if (leftOut.size > 0) context.leftOut = [...leftOut];
  return passing;
}

function channel(
  { exchange, translator, wire }: AnyRequestContext,
  { provider }: Target,
  beside?: Beside,
): Channel {
  const { request, target } = exchange;
  const isTranslated = translator !== undefined;
  const headers = upstreamHeaders(request.rawHeaders, provider, { isTranslated, beside });
  if (isTranslated || 'pathOf' in wire) return { query: '', headers };
  return {
    query: beside ? passingQuery(target.query, request.method ?? 'POST', beside) : target.query,
    headers,
  };
}

/** The edits that don't depend on the hold. */
export function bodyEdits(context: RequestContext, target: Target): Edit[] {
  const { wire, request } = context;
  const edits = [...request.edits, ...stripOwnReasoning(context), ...lostThinkingEdits(context)];
  if (target.model !== request.model) edits.push(...wire.renameModel(request, target.model));
  return edits;
}

/** All edits of the client's body. */
function editsFor(gateway: Pick<Gateway, 'settings'>, admittedRequest: AdmittedRequest): Edit[] {
  const { context, target, admitted } = admittedRequest;
  const { wire, request } = context;
  const edits = bodyEdits(context, target);
  if (admitted.remaining !== null) edits.push(...outputLimitEdits(admittedRequest));
  if (admitted.calls !== undefined) edits.push(...(wire.limitCalls?.(request, admitted.calls) ?? []));
  if (gateway.settings()['admission.service_tier'] === 'default')
    edits.push(...defaultServiceTierEdits(context, target, admitted));
  if (gateway.settings()['admission.host_price'] === 'listed') edits.push(...maxPriceEdits(admittedRequest));
  return edits;
}

/** Upstream paths whose requests have the field. */
const PATHS = new Set(['/chat/completions', '/responses']);

/**
 * An OpenAI project or an Azure deployment may have a dearer tier as its default:
 * https://learn.microsoft.com/azure/foundry/openai/concepts/priority-processing
 * Azure's dated API versions may not know the field. Google, xAI, Fireworks, Groq and Cerebras use a dearer tier only on
 * request; what "auto" means at the last two depends on contracts that are not public.
 */
function hasDefaultTier({ name, basePath }: Provider): boolean {
  return name === 'openai' || (name === 'azure' && basePath.endsWith('/v1'));
}

/**
 * Asks for the default tier, whose price the budget holds, when the request leaves the tier to the provider: the
 * account may default to a tier at several times that price.
 */
function defaultServiceTierEdits(
  { request, wire }: RequestContext,
  { provider }: Target,
  { remaining }: Admitted,
): Edit[] {
  if (remaining === null || !hasDefaultTier(provider) || !PATHS.has(wire.path)) return [];
  const { bytes, members } = request;
  const member = members.find(({ key }) => key === 'service_tier');
  if (!member) return [insertMember(members, 'service_tier', '"default"')];
  const value = readValue(bytes, member);
  return value === 'auto' || value === null ? [replaceValue(member, '"default"')] : [];
}

/** The edits that keep the output of a request under a budget within its hold. */
export function outputLimitEdits({ context, target, admitted }: AdmittedRequest): Edit[] {
  const { wire, request } = context;
  const { name, outputLimit } = target.provider;
  const { limit } = admitted;
  if (wire.limitTotal && limitsAnswerAlone(target)) {
    const total = limit ?? request.maxOutputTokens;
    return total === undefined ? [] : wire.limitTotal(request, total);
  }
  const edits = limit === undefined ? [] : wire.limitOutput(request, limit, outputLimit);
  if (wire.nameLimit && Object.hasOwn(PRESETS, name)) edits.push(...wire.nameLimit(request, outputLimit));
  return edits;
}

const ALIBABA = /(^|[./])aliyuncs\.com(:\d+)?$/;
const QWEN = /^qwen\//;

/**
 * Whether `max_tokens` may limit the answer without its reasoning, as at Alibaba for models before qwen4:
 * https://www.alibabacloud.com/help/en/model-studio/api-compatibility-upgrade-notice. There `max_completion_tokens`
 * limits both. OpenRouter passes models of Alibaba's on to it.
 */
function limitsAnswerAlone({ provider, model }: Target): boolean {
  return ALIBABA.test(provider.origin) || (provider.name === 'openrouter' && QWEN.test(model));
}

const MARK = Buffer.from(`"${OWN_REASONING_MARK}`);

/**
 * Removes the reasoning of earlier translated answers: gw made it, and a provider refuses reasoning that it didn't
 * sign. Turns are valid without it (https://docs.claude.com/en/docs/build-with-claude/extended-thinking).
 */
function stripOwnReasoning({ wire, request, translator }: RequestContext): Edit[] {
  const { bytes } = request;
  if (wire.family === 'gemini') return translator ? [] : ownSignatures(bytes);
  if (translator || wire.form === undefined || wire.form === 'chat' || bytes.indexOf(MARK) < 0) return [];
  try {
    return editsIn(request);
  } catch (error) {
    // Invalid JSON inside the request is left for the provider to refuse.
    if (error instanceof JsonSyntaxError) return [];
    throw error;
  }
}

function editsIn({ bytes, members }: WireRequest): Edit[] {
  const list = members.find(({ key }) => key === 'input' || key === 'messages');
  if (!list || bytes[list.start] !== OPEN_BRACKET) return [];
  const elements = scanArray(bytes, list.start);
  const own = new Set(elements.filter((span) => isOwnBlock(bytes, span)));
  const messages = elements.filter((span) => !own.has(span)).map((span) => blocksOf(bytes, span));
  const empty = messages.filter(({ blocks, left }) => blocks.length > 0 && left === 0);
  for (const { span } of empty) own.add(span);
  return [
    ...removeElements(elements, (span) => own.has(span)),
    ...messages.filter(({ left }) => left > 0).flatMap(({ edits }) => edits),
  ];
}

/** The blocks of a message, how many of them stay, and the edits that remove the others. */
function blocksOf(bytes: Buffer, span: Range): { span: Range; blocks: Range[]; left: number; edits: Edit[] } {
  const content = contentOf(bytes, span);
  const blocks = content ? scanArray(bytes, content.start) : [];
  const own = new Set(blocks.filter((block) => isOwnBlock(bytes, block)));
  return {
    span,
    blocks,
    left: blocks.length - own.size,
    edits: removeElements(blocks, (block) => own.has(block)),
  };
}

/** The content array of a message that contains the mark. */
function contentOf(bytes: Buffer, { start, end }: Range): Range | undefined {
  if (bytes.subarray(start, end).indexOf(MARK) < 0) return undefined;
  const content = scanObject(bytes.subarray(start, end)).findLast(({ key }) => key === 'content');
  if (!content || bytes[start + content.start] !== OPEN_BRACKET) return undefined;
  return { start: start + content.start, end: start + content.end };
}

/** Whether an element is a reasoning item or a thinking block that gw made. */
function isOwnBlock(bytes: Buffer, span: Range): boolean {
  if (bytes.subarray(span.start, span.end).indexOf(MARK) < 0) return false;
  const value = readValue(bytes, span);
  if (!isObject(value)) return false;
  const { type, encrypted_content, signature, data } = value;
  const seals: Record<string, unknown> = {
    reasoning: encrypted_content,
    thinking: signature,
    redacted_thinking: data,
  };
  const seal = typeof type === 'string' && Object.hasOwn(seals, type) ? seals[type] : undefined;
  return isOwnReasoning(seal);
}
