import type { Dialect } from '../../providers/dialects/dialect.ts';
import { isTooLong, readError } from '../../translation/errors.ts';
import type { RequestContext } from '../context/request-context.ts';
import { withMendedCalls } from '../routing/mended-calls.ts';
import { addsField, type TranslationState, translateRequest } from '../routing/translate.ts';
import type { Target } from '../state/resolver.ts';
import { meansNoEndpoint } from '../state/responses-support.ts';
import type { RoutedAttempt } from './attempt.ts';

interface Refusal {
  status: number;
  body(): string;
}

/**
 * The request in another form after its provider refused the one that gw gave it: by another of its APIs, or without a
 * field that gw added. Undefined where the refusal means something else, or this was the second try. Throws GwError 400
 * for what the other API can't express. A request goes no third time.
 */
export async function secondForm(
  answer: Refusal,
  { context, target, route }: RoutedAttempt,
  gateway: TranslationState,
): Promise<RequestContext | undefined> {
  if (answer.status < 400 || answer.status >= 500 || context.retriedWithout) return undefined;
  const original = route.context;
  if (context.wire.path === '/responses' && lacksResponses(answer, target, gateway))
    return translateRequest(original, target, gateway, true);
  if (needsResponses(answer, context, target)) {
    gateway.manners.learn(target, { needs: 'responses' });
    return { ...(await translateRequest(original, target, gateway)), retriedWithout: [] };
  }
  if (asksForReasoning(answer, context)) {
    const dialect: Dialect = { ...gateway.manners.dialectOf(target), reasoning: 'required' };
    const memory = gateway.memory(context.project.id);
    const mended = withMendedCalls(original, target, memory, dialect, true);
    return mended === original ? undefined : { ...mended, retriedWithout: [] };
  }
  const field = refusedField(answer, context, original);
  if (field === undefined) return undefined;
  gateway.manners.learn(target, { refuses: field });
  return { ...(await translateRequest(original, target, gateway)), retriedWithout: [field] };
}

function lacksResponses(
  answer: Refusal,
  { provider }: Target,
  { responsesSupport }: TranslationState,
): boolean {
  return !responsesSupport.isSupported(provider) && meansNoEndpoint(answer.status, answer.body());
}

/** OpenAI's words: "This model is only supported in v1/responses", "please use /v1/responses instead", "not a chat model". */
const NEEDS_RESPONSES = /v1\/responses|responses api|not a chat model/i;

function needsResponses(answer: Refusal, { wire }: RequestContext, { provider }: Target): boolean {
  if (wire.path !== '/chat/completions' || provider.wire !== 'openai') return false;
  if (answer.status !== 400 && answer.status !== 404) return false;
  return NEEDS_RESPONSES.test(readError(answer.body()).message);
}

/** DeepSeek's words for calls of another model's, which have no reasoning: an empty one will do. */
function asksForReasoning(answer: Refusal, { wire, translator }: RequestContext): boolean {
  if (answer.status !== 400 && answer.status !== 422) return false;
  if (translator || wire.path !== '/chat/completions') return false;
  return /reasoning_content/.test(readError(answer.body()).message);
}

/** Fields that gw adds, or derives from others, and that an answer can do without. */
// biome-ignore format: they fit a few lines
const REMOVABLE = [
  'stream_options', 'parallel_tool_calls', 'reasoning_effort', 'reasoning.summary', 'reasoning', 'thinking', 'output_config', 'verbosity',
  'safety_identifier', 'user', 'include', 'store', 'metadata', 'reasoning_split', 'service_tier',
];

/** OpenAI's words to organisations that are not verified. */
const SUMMARIES = /reasoning summar/i;

/** The field that a refusal names, if gw added it and the client didn't. */
function refusedField(
  answer: Refusal,
  { request }: RequestContext,
  { request: original }: RequestContext,
): string | undefined {
  if (answer.status !== 400 && answer.status !== 422) return undefined;
  const error = readError(answer.body());
  if (isTooLong(error)) return undefined;
  const text = `${error.message} ${String(error.param)}`;
  return REMOVABLE.find((field) => {
    const [name] = field.split('.');
    const isNamed =
      new RegExp(`\\b${field.replace('.', '\\W')}\\b`).test(text) ||
      (field === 'reasoning.summary' && SUMMARIES.test(text));
    const isOwn = original.members.some(({ key }) => key === name);
    return (
      isNamed && !isOwn && (request.members.some(({ key }) => key === name) || addsField(request, field))
    );
  });
}
