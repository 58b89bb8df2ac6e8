import { soldModel } from '../../pricing/library.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { type Encoding, encodingOf, tokenBound } from '../../tokens/encoding.ts';
import { imageTokens, type NonTextInput, nonTextTokens } from '../../wire/request/non-text-input.ts';
import type { PromptBlocks } from '../../wire/request/prompt-block.ts';
import { mayAnswerOther } from '../../wire/request/surcharges.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { InputBound } from '../state/bound-trust.ts';
import type { StoredResponse } from '../state/continued-responses.ts';
import { SMALL_BYTES } from '../state/prompt-bases.ts';
import type { Target } from '../state/resolver.ts';
import {
  editBound,
  FOR_OPTION,
  FOR_TOOLS,
  type MeasuredPrompt,
  PER_BLOCK,
  PER_MESSAGE,
} from './edit-bound.ts';
import {
  blocksOf,
  growthOfJson,
  growthOfText,
  measurePrompt,
  nonTextOf,
  promptOf,
  promptWorthSplitting,
  readPrompt,
  rewritesJson,
} from './measure-prompt.ts';
import { scopeOf } from './prompt-scope.ts';
import type { Quote } from './quote.ts';

/** Tokens that a provider adds to any request. */
const TOKENS_PER_REQUEST = 64;

/** Tokens that a provider adds to each message, tool or field. */
const TOKENS_PER_ITEM = 16;

/**
 * Tokens of the skills in a container, up to eight, of which the model is told a name and a description of 1,024
 * characters: https://platform.claude.com/docs/en/build-with-claude/skills-guide
 */
const FOR_SKILLS = 12_000;

function overheadTokens({ request }: RequestContext): number {
  let tokens = TOKENS_PER_REQUEST;
  for (const { key } of request.members) {
    if (key === 'tools') tokens += FOR_TOOLS;
    else if (key === 'container') tokens += FOR_SKILLS;
  }
  return tokens;
}

/** Upper bound of the input tokens, and how it was found. */
interface BoundedInput {
  tokens: number;
  by: InputBound;
}

export type InputParts = Pick<Gateway, 'promptBases' | 'continuedResponses' | 'boundTrust'>;

/**
 * The least upper bound of the input tokens that needs no count: by the prompts that the provider has counted before, or
 * by the bytes.
 */
export function leastInput(parts: InputParts, context: RequestContext, target: Target): BoundedInput {
  if (context.request.nonText.onlyStored) return leastContinued(parts, context, target);
  const { promptBases, boundTrust } = parts;
  const prompt = promptWorthSplitting(context, target, promptBases);
  const measured = prompt && measurePrompt(prompt, target, promptBases);
  const scope = prompt && boundTrust.isTrusted(target, 'edit') ? scopeOf(context, target, prompt) : undefined;
  const found = measured && scope && editBound(measured, promptBases.find(scope));
  // The bytes as they stand, before what a template may make of them: no other bound by bytes is lower.
  if (found && found.tokens <= context.request.bytes.length) {
    promptBases.touch(found.base);
    return { tokens: found.tokens, by: 'edit' };
  }
  const bytes = byteBound(context, target, measured);
  return found && found.tokens < bytes
    ? { tokens: found.tokens, by: 'edit' }
    : { tokens: bytes, by: 'bytes' };
}

/** The same for a request whose provider adds what it stores. */
function leastContinued(
  { promptBases, continuedResponses, boundTrust }: InputParts,
  context: RequestContext,
  target: Target,
): BoundedInput {
  const bytes = byteBound(context, target, undefined);
  const prompt = boundTrust.isTrusted(target, 'edit') ? blocksOf(context) : undefined;
  const scope = prompt && scopeOf(context, target, prompt);
  const response = scope && prompt.previous && continuedResponses.find(scope, prompt.previous);
  if (!response) return { tokens: bytes, by: 'bytes' };
  const own = byteBound(context, target, measurePrompt(prompt, target, promptBases));
  const tokens = continuedBound(response, prompt, own);
  return tokens !== undefined && tokens < bytes ? { tokens, by: 'edit' } : { tokens: bytes, by: 'bytes' };
}

/** Upper bound of the input tokens by the request's bytes alone. */
export function inputBound(context: RequestContext, target: Target): number {
  const prompt = context.request.bytes.length < SMALL_BYTES ? undefined : promptOf(context);
  return byteBound(context, target, prompt && measurePrompt(prompt, target, NO_BASES));
}

/** A token is at least one byte, and JSON only makes text longer: but templates and tokenizers may lengthen it first. */
function byteBound(context: RequestContext, target: Target, measured: MeasuredPrompt | undefined): number {
  const { bytes } = context.request;
  return (
    bytes.length +
    growth(context, target, measured?.blocks) +
    (measured ? sealedGrowth(measured) : 0) +
    referencedTokens(context, measured) +
    overheadTokens(context) +
    (measured ? imagesIn(measured) : nonTextBound(nonTextOf(context), target, bytes))
  );
}

/** Tokens by which the prompt can exceed its bytes. */
function growth({ request }: RequestContext, target: Target, blocks: MeasuredPrompt['blocks'] | undefined) {
  return growthOfText(request) + (rewritesJson(target) ? growthOfJson(request, blocks) : 0);
}

/** A split prompt has no other input that its bytes don't bound. */
function imagesIn({ blocks, imageTokens }: MeasuredPrompt): number {
  return blocks.reduce((sum, { images, inline }) => sum + images * imageTokens - inline, 0);
}

/** Tokens by which sealed reasoning exceeds its bytes, as far as gw knows what it was billed. */
function sealedGrowth({ blocks, tokensOf }: MeasuredPrompt): number {
  let tokens = 0;
  blocks.forEach(({ kind, start, end }, i) => {
    if (kind === 'reasoning') tokens += Math.max(0, tokensOf(i) - (end - start));
  });
  return tokens;
}

const REFERENCE = Buffer.from('"tool_reference"');

/** The definitions that references to tools stand for, each as often as it is referred to. */
function referencedTokens({ request }: RequestContext, measured: MeasuredPrompt | undefined): number {
  const { bytes, members } = request;
  if (measured) {
    let tokens = 0;
    for (const { references } of measured.blocks)
      if (references) for (const name of references) tokens += measured.definitionTokens(name);
    return tokens;
  }
  const tools = members.find(({ key }) => key === 'tools');
  if (!tools) return 0;
  let references = 0;
  for (let at = bytes.indexOf(REFERENCE); at >= 0; at = bytes.indexOf(REFERENCE, at + 1)) references++;
  return references * (tools.end - tools.start);
}

/** Upper bound, in tokens, of input that the request only refers to: images, files, stored context. */
export function nonTextBound(nonText: NonTextInput, { provider, model }: Target, bytes?: Buffer): number {
  if (nonText.images === 0 && !nonText.context) return 0;
  return nonTextTokens(nonText, imageTokens(model, bytes), modelLimits(provider.name, model)?.contextTokens);
}

const NO_BASES = {
  numbersOf: (blocks: { length: number }) => new Int32Array(blocks.length),
  sealedTokens: () => undefined,
};

/** Counts the input tokens exactly where the model's tokenizer is known; never more than `bound`. */
export async function countInput(
  gateway: Pick<Gateway, 'tokens' | 'boundTrust'>,
  context: RequestContext,
  target: Target,
  { inputTokens: bound, inputBound: by }: Pick<Quote, 'inputTokens' | 'inputBound'>,
): Promise<BoundedInput> {
  const encoding = gateway.boundTrust.isTrusted(target, 'exact') ? encodingFor(context, target) : undefined;
  const { texts, items, tokens, nonText, inlineBytes } = readPrompt(context);
  const read = encoding && writesJson(target) ? texts.map(asJson) : texts;
  const textTokens = encoding
    ? await gateway.tokens.count(read, encoding).catch(() => bound)
    : texts.reduce((sum, text) => sum + tokenBound(text), 0);
  const overhead = overheadTokens(context) + items * TOKENS_PER_ITEM;
  const images = nonTextBound(nonText, target, context.request.bytes);
  const counted = textTokens + tokens + overhead + images + (readsImagesAsText(context) ? inlineBytes : 0);
  if (counted >= bound) return { tokens: bound, by };
  return { tokens: counted, by: encoding ? 'exact' : 'bytes' };
}

/**
 * Whether a provider may read the base64 of an image as text: OpenAI billed 66,000 tokens for a PNG of 131 kB in a chat
 * completion of gpt-5.4-mini (https://community.openai.com/t/1380539).
 */
const readsImagesAsText = ({ wire }: RequestContext): boolean => /completions$/.test(wire.path);

/** gpt-oss has a public template, which writes results as JSON; its many hosts escape that in ways of their own. */
const writesJson = (target: Target): boolean => /gpt-oss/.test(target.model) && rewritesJson(target);

/**
 * The encoding with which a prompt can be counted exactly. Behind another host's name of OpenAI's models may be another
 * template, or another model.
 */
function exactEncoding(target: Target): Encoding | undefined {
  if (rewritesJson(target) && !writesJson(target)) return undefined;
  return encodingOf(soldModel(target.provider.name, target.model));
}

/** The encoding of the only model that may answer. */
function encodingFor({ request }: RequestContext, target: Target): Encoding | undefined {
  return mayAnswerOther(request.surcharges) ? undefined : exactEncoding(target);
}

/** A text as JSON, with every escape that a host may use. */
function asJson(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&'\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether counting can lower the bound, which takes the bytes of inline images for text. */
export function isCountable(context: RequestContext, target: Target): boolean {
  const nonText = nonTextOf(context);
  return encodingFor(context, target) !== undefined || nonText.images > 0 || nonText.context;
}

/** The options of a prompt: equal for prompts that are rendered alike. */
export function optionsOf({ blocks }: Pick<PromptBlocks, 'blocks'>): string {
  return blocks.flatMap(({ kind, id }) => (kind === 'option' ? [id] : [])).join(' ');
}

/** Options of a response: tool_choice, text and reasoning. */
const MAX_OPTIONS = 3;

/**
 * Upper bound of the input of a request that continues a response: that response's prompt and answer, and all that is
 * new. `ownTokens` bounds the request by itself. Undefined where the answer may be joined with what follows it.
 */
export function continuedBound(
  { inputTokens, outputTokens, reasoningTokens, trailingSpace, options }: StoredResponse,
  prompt: PromptBlocks,
  ownTokens: number,
): number | undefined {
  const { blocks } = prompt;
  if (
    blocks.find(({ role }) => role !== 'option' && role !== 'tool' && role !== 'system')?.role === 'assistant'
  )
    return undefined;
  const around = blocks.length * (PER_BLOCK + PER_MESSAGE);
  // Other options may bring reasoning back that the provider had left out.
  const changed = options === optionsOf(prompt) ? 0 : MAX_OPTIONS * FOR_OPTION + reasoningTokens;
  return inputTokens + outputTokens + trailingSpace + ownTokens + around + changed;
}
