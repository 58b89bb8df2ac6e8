import { isObject } from '../../json/object.ts';
import { type Member, readValue } from '../../json/scan.ts';
import { makerOf } from '../../providers/makers.ts';
import type { FormField } from './form.ts';

/** The models that a request lets answer. */
export interface NamedModels {
  names: string[];
  /** A field that chooses models which the request doesn't name, such as an agent; undefined without one. */
  hidden: string | undefined;
}

/** What holds texts and data of users, tools and their schemas, where a name chooses nothing. */
// biome-ignore format: they fit a few lines
const CONTENT = new Set([
  'arguments', 'client_metadata', 'content', 'contents', 'description', 'input', 'input_schema', 'inputs', 'instructions',
  'json_schema', 'messages', 'metadata', 'parameters', 'prompt', 'prompt_cache_key', 'properties', 'safety_identifier',
  'schema', 'service', 'stop', 'suffix', 'system', 'text', 'texts', 'title', 'tool_resources', 'user',
]);
/**
 * What stands for a model, or requests, that are stored elsewhere: agents and workflows (Mistral, OpenAI), presets
 * (OpenRouter), assistants, files of requests.
 */
// biome-ignore format: they fit a few lines
const HIDDEN = new Set([
  'agent', 'agent_id', 'assistant', 'assistant_id', 'deployment', 'deployment_id', 'eval_id', 'input_file',
  'input_file_id', 'input_files', 'preset', 'prompt_id', 'workflow', 'workflow_id',
]);
/** Members whose texts are models: `model`, `models`, `fallback_models`, `grader_model`, `fallbacks`, and what is in them. */
const MODEL = /^(?:.*_)?models?(?:_id|_name|_ids|_names)?$|^fallbacks?$/;
const OPEN_BRACE = 0x7b;
/** Objects nest no deeper than this in any request of a provider's document. */
const MAX_DEPTH = 32;

/** Names that can only be models, wherever they stand. */
const isModelName = (text: string): boolean => makerOf(text) !== undefined;

/** The models that the members of a JSON body name, at any depth outside of content. */
export function modelsIn(bytes: Buffer, members: readonly Member[]): NamedModels {
  const found: NamedModels = { names: [], hidden: undefined };
  for (const member of members) {
    // A stored prompt of OpenAI's is an object, and may choose a model.
    if (member.key === 'prompt' && bytes[member.start] === OPEN_BRACE) found.hidden ??= 'prompt';
    if (!CONTENT.has(member.key))
      visit(readMember(bytes, member), member.key, { found, isModel: false, depth: 0 });
  }
  return found;
}

/** Fields of the APIs that choose no model; so many that most requests have no other. */
// biome-ignore format: they fit a few lines
const KNOWN = new Set([
  'audio', 'cache_control', 'context_management', 'dimensions', 'encoding_format', 'frequency_penalty', 'functions',
  'function_call', 'include', 'logit_bias', 'logprobs', 'max_completion_tokens', 'max_output_tokens', 'max_tokens',
  'max_tool_calls', 'mcp_servers', 'modalities', 'model', 'n', 'output_config', 'parallel_tool_calls', 'prediction',
  'presence_penalty', 'previous_response_id', 'prompt', 'prompt_cache_options', 'prompt_cache_retention', 'reasoning',
  'reasoning_effort', 'response_format', 'seed', 'service_tier', 'speed', 'stop_sequences', 'store', 'stream',
  'stream_options', 'temperature', 'thinking', 'tool_choice', 'tools', 'top_k', 'top_logprobs', 'top_p', 'truncation',
  'verbosity', 'web_search_options',
]);

/** The models that may answer besides the one in `model`, named by the fields that an API has for that or gw doesn't know. */
export function otherModelsIn(bytes: Buffer, members: readonly Member[]): NamedModels {
  const unusual = members.filter(({ key }) => !KNOWN.has(key));
  return unusual.length === 0 ? NONE : modelsIn(bytes, unusual);
}

const NONE: NamedModels = { names: [], hidden: undefined };

/** The models that the fields of a form name. */
export function modelsInForm(bytes: Buffer, fields: readonly FormField[]): NamedModels {
  const found: NamedModels = { names: [], hidden: undefined };
  for (const { name, isFile, start, end } of fields) {
    const key = name.replace(/\[\]$/, '');
    // A server may read a small file as a field.
    if (isFile && (MODEL.test(key) || HIDDEN.has(key))) found.hidden ??= key;
    else if (!isFile && !CONTENT.has(key))
      visit(bytes.toString('utf8', start, end), key, { found, isModel: false, depth: 0 });
  }
  return found;
}

interface Place {
  found: NamedModels;
  /** Within a member that names models. */
  isModel: boolean;
  depth: number;
}

function visit(value: unknown, key: string, { found, isModel, depth }: Place): void {
  const names = isModel || MODEL.test(key);
  if (value === null || value === undefined) return;
  if (HIDDEN.has(key) || depth > MAX_DEPTH) found.hidden ??= key;
  if (typeof value === 'string') {
    if (names || (key !== 'name' && isModelName(value))) found.names.push(value);
    return;
  }
  const inner = { found, isModel: names, depth: depth + 1 };
  if (Array.isArray(value)) for (const each of value) visit(each, key, inner);
  else if (isObject(value))
    for (const [name, each] of Object.entries(value)) if (!CONTENT.has(name)) visit(each, name, inner);
}

function readMember(bytes: Buffer, member: Member): unknown {
  try {
    return readValue(bytes, member);
  } catch {
    return undefined;
  }
}
