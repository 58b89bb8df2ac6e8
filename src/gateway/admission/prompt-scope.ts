import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { OWN_REASONING_MARK } from '../../translation/carry/envelope.ts';
import type { PromptBlock, PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { BaseScope } from '../state/prompt-bases.ts';
import type { Target } from '../state/resolver.ts';

/** Headers that change how a prompt is rendered, besides Anthropic's betas. */
const HEADERS = ['anthropic-version', 'openai-beta'];
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
  const { provider } = target;
  if (provider.local || isChangingName(target)) return undefined;
  // gw removes reasoning of its own before it sends the request, so that a count would mean another prompt.
  if (hasOwnReasoning(prompt)) return undefined;
  const { url = '', headers } = context.exchange.request;
  const at = url.indexOf('?');
  const query = at < 0 || context.translator ? '' : url.slice(at);
  const rendering = [heavyBetas(headers), ...HEADERS.map((name) => String(headers[name] ?? ''))].join('\n');
  return {
    model: modelScopeOf(target),
    key: `${context.wire.path}${query}\n${rendering}\n${prompt.key}`,
  };
}

/** The `model` of the scopes of a target. */
export function modelScopeOf({ provider, model }: Target): string {
  const address = provider.origin + provider.basePath;
  return `${provider.name}\n${address}\n${credentialOf(provider.authHeaders)}\n${model}`;
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

/**
 * Betas of Anthropic's that add some lines to a prompt at most, and leave the rest of it as it is. Claude Code turns some
 * of them on and off within a session: it compacts without `afk-mode`.
 */
const LIGHT =
  /^(afk-mode|dangerous-tool-use|thinking-token-count|prompt-caching-scope|extended-cache-ttl|fine-grained-tool-streaming|oauth)-\d{4}-\d{2}-\d{2}$/;

function betasOf(headers: IncomingHttpHeaders): string[] {
  const header = headers['anthropic-beta'];
  return header === undefined ? [] : String(header).split(/[\s,]+/);
}

/** The betas that may change how all of a prompt is rendered. */
function heavyBetas(headers: IncomingHttpHeaders): string {
  return betasOf(headers)
    .filter((beta) => !LIGHT.test(beta))
    .join();
}

/** The prompt with an option for each light beta, so that dropping one costs no more than changing an option. */
export function withLightBetas(prompt: PromptBlocks, headers: IncomingHttpHeaders): PromptBlocks {
  const light = betasOf(headers).filter((beta) => LIGHT.test(beta));
  return light.length === 0 ? prompt : { ...prompt, blocks: [...light.map(optionOf), ...prompt.blocks] };
}

function optionOf(beta: string): PromptBlock {
  return {
    id: `option option.${beta}`,
    kind: 'option',
    role: 'option',
    start: 0,
    end: 0,
    without: 0,
    opensMessage: false,
    isJson: false,
    images: 0,
    addressed: 0,
    inline: 0,
  };
}
