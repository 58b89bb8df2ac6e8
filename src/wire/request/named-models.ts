import { OPEN_BRACE, OPEN_BRACKET, START_OF_NULL } from '../../json/bytes.ts';
import { plainName } from '../../json/plain-name.ts';
import { JsonSyntaxError, type Member, skipValue } from '../../json/scan.ts';
import { stringAt, walkArray, walkObject } from '../../json/walk.ts';
import { makerOf } from '../../providers/presets.ts';
import type { FormField } from './form.ts';

/** All models that may answer a request. */
export interface NamedModels {
  names: string[];
  /** A field that selects models not named in the request, such as an agent; undefined if there is none. */
  hidden: string | undefined;
}

/** Fields with user text and data, tools or schemas. Names in them select no model. */
// biome-ignore format: they fit a few lines
const CONTENT = new Set([
  'anthropic_beta', 'arguments', 'betas', 'client_metadata', 'content', 'contents', 'description', 'input',
  'input_schema', 'inputs', 'instructions', 'json_schema', 'messages', 'metadata', 'parameters', 'prompt',
  'prompt_cache_key', 'properties', 'safety_identifier', 'schema', 'service', 'stop', 'suffix', 'system',
  'systemInstruction', 'text',
  'texts', 'title', 'tool_resources', 'user',
]);
/**
 * Fields that refer to models or requests stored elsewhere: agents and workflows (Mistral, OpenAI), presets
 * (OpenRouter), assistants, request files, and another host or account of a proxy (LiteLLM). In the form of
 * `plainName`.
 */
// biome-ignore format: they fit a few lines
const HIDDEN = new Set([
  'agent', 'agentid', 'apibase', 'assistant', 'assistantid', 'baseurl', 'deployment', 'deploymentid', 'evalid',
  'inputfile', 'inputfileid', 'inputfiles', 'litellmcredentialname', 'litellmparams', 'litellmparamstemplate',
  'modellist', 'preset', 'promptid', 'workflow', 'workflowid',
]);
/**
 * Members whose strings are models, including nested strings, in the form of `plainName`: `model`, `models`,
 * `fallback_models`, `graderModel`, `fallbacks`.
 */
const MODEL = /models?(?:id|name|ids|names)?$|^fallbacks?$/;
/** No documented request nests objects deeper than this. */
const MAX_DEPTH = 32;

/** Whether a text can only be a model name, in any field. */
const isModelName = (text: string): boolean => makerOf(text) !== undefined;

/** The models named by a JSON body's members, at any depth outside content fields. Duplicate keys all count. */
export function modelsIn(bytes: Buffer, members: readonly Member[]): NamedModels {
  const models: NamedModels = { names: [], hidden: undefined };
  for (const { key, start } of members) {
    // OpenAI's stored prompt is an object and may select a model.
    if (key === 'prompt' && bytes[start] === OPEN_BRACE) models.hidden ??= 'prompt';
    if (!CONTENT.has(key)) visitMember(bytes, start, key, models);
  }
  return models;
}

/**
 * Known fields that select no model: names, numbers, and lists of tools. Fields with nested options are searched, which
 * takes a microsecond.
 */
// biome-ignore format: they fit a few lines
const KNOWN = new Set([
  'dimensions', 'encoding_format', 'frequency_penalty', 'functions', 'function_call', 'include', 'logit_bias',
  'logprobs', 'max_completion_tokens', 'max_output_tokens', 'max_tokens', 'max_tool_calls', 'mcp_servers',
  'modalities', 'model', 'n', 'parallel_tool_calls', 'presence_penalty', 'previous_response_id', 'prompt',
  'prompt_cache_retention', 'reasoning_effort', 'seed', 'service_tier', 'speed', 'stop_sequences', 'store', 'stream',
  'temperature', 'tools', 'top_k', 'top_logprobs', 'top_p', 'truncation', 'verbosity',
]);

/** Models that may answer besides `model`, named by fallback fields or by fields unknown to gw. */
export function otherModelsIn(bytes: Buffer, members: readonly Member[]): NamedModels {
  const unusual = members.filter(({ key }) => !KNOWN.has(key));
  return unusual.length === 0 ? NONE : modelsIn(bytes, unusual);
}

const NONE: NamedModels = { names: [], hidden: undefined };

/** The models named by a form's fields. */
export function modelsInForm(bytes: Buffer, fields: readonly FormField[]): NamedModels {
  const models: NamedModels = { names: [], hidden: undefined };
  for (const { name, isFile, start, end } of fields) {
    const key = name.replace(/\[\]$/, '');
    // A server may read a small file as a field.
    if (isFile && (MODEL.test(plainName(key)) || HIDDEN.has(plainName(key)))) models.hidden ??= key;
    else if (!isFile && !CONTENT.has(key)) {
      if (HIDDEN.has(plainName(key))) models.hidden ??= key;
      const isModel = MODEL.test(plainName(key));
      noteText(bytes.toString('utf8', start, end), key, { models, isModel, depth: 0 });
    }
  }
  return models;
}

function visitMember(bytes: Buffer, start: number, key: string, models: NamedModels): void {
  try {
    visit(bytes, start, key, { models, isModel: false, depth: 0 });
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    // A lenient parser may read a bad escape as anything.
    models.hidden ??= key;
  }
}

interface Place {
  models: NamedModels;
  /** Inside a member that names models. */
  isModel: boolean;
  depth: number;
}

/** Visits the value at `start`. Returns its end. */
function visit(bytes: Buffer, start: number, key: string, { models, isModel, depth }: Place): number {
  const end = skipValue(bytes, start);
  const names = isModel || MODEL.test(plainName(key));
  if (bytes[start] === START_OF_NULL) return end;
  if (HIDDEN.has(plainName(key)) || depth > MAX_DEPTH) models.hidden ??= key;
  if (depth > MAX_DEPTH) return end;
  const inner = { models, isModel: names, depth: depth + 1 };
  if (bytes[start] === OPEN_BRACE)
    walkObject(bytes, start, (member, valueStart) =>
      CONTENT.has(member) ? skipValue(bytes, valueStart) : visit(bytes, valueStart, member, inner),
    );
  else if (bytes[start] === OPEN_BRACKET)
    walkArray(bytes, start, (element) => visit(bytes, element, key, inner));
  else noteText(stringAt(bytes, { start, end }), key, { models, isModel: names, depth });
  return end;
}

function noteText(text: string | undefined, key: string, { models, isModel }: Place): void {
  if (text !== undefined && (isModel || (key !== 'name' && isModelName(text)))) models.names.push(text);
}
