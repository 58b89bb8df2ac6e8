import { createHash } from 'node:crypto';
import { OWN_REASONING_MARK } from '../../translation/own-reasoning-mark.ts';
import type { PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { BaseScope } from '../state/prompt-bases.ts';
import type { Target } from '../state/resolver.ts';

/** Headers that change how a prompt is rendered. */
const HEADERS = ['anthropic-beta', 'anthropic-version', 'openai-beta'];
/** Names behind which the model, its host or the prompt differs from request to request. */
const CHANGING = /\b(auto|router|compound|sonar)\b|:online\b|-search-/i;
/** Providers that choose a host for each request, and whose hosts render prompts in their own ways. */
const CHOOSES_HOST = /openrouter|huggingface|vercel|portkey/i;

const OWN_REASONING = Buffer.from(`"${OWN_REASONING_MARK}`);

/** The scope in which a count of this prompt bounds other prompts; undefined if none does. */
export function scopeOf(
  context: RequestContext,
  target: Target,
  prompt: PromptBlocks,
): BaseScope | undefined {
  const { provider, model } = target;
  if (provider.local || isChangingName(target)) return undefined;
  // gw removes reasoning of its own before it sends the request, so that a count would mean another prompt.
  if (hasOwnReasoning(prompt)) return undefined;
  const { url = '', headers } = context.exchange.request;
  const at = url.indexOf('?');
  const query = at < 0 || context.translator ? '' : url.slice(at);
  const betas = HEADERS.map((name) => String(headers[name] ?? '')).join('\n');
  const address = provider.origin + provider.basePath;
  return {
    model: `${provider.name}\n${address}\n${credentialOf(provider.authHeaders)}\n${model}`,
    key: `${context.wire.path}${query}\n${betas}\n${prompt.key}`,
  };
}

/** Whether requests for the same model may be answered by different models or hosts. */
export function isChangingName({ provider, model }: Target): boolean {
  return CHANGING.test(model) || CHOOSES_HOST.test(provider.name + provider.origin);
}

function hasOwnReasoning({ bytes, blocks }: PromptBlocks): boolean {
  return blocks.some(
    ({ kind, start, end }) => kind === 'reasoning' && bytes.subarray(start, end).indexOf(OWN_REASONING) >= 0,
  );
}

/** A provider's headers are the same list for as long as its key is. */
const credentials = new WeakMap<readonly string[], string>();

function credentialOf(authHeaders: readonly string[]): string {
  const known = credentials.get(authHeaders);
  if (known !== undefined) return known;
  const credential = createHash('sha256').update(JSON.stringify(authHeaders)).digest('base64').slice(0, 22);
  credentials.set(authHeaders, credential);
  return credential;
}
