import { OPEN_BRACKET, QUOTE, type Range, START_OF_NULL } from '../../json/bytes.ts';
import { isObject, objectsIn } from '../../json/object.ts';
import { type Member, readValue } from '../../json/scan.ts';
import { readMembers, stringAt, walkArray } from '../../json/walk.ts';
import type { BlockRole } from '../request/prompt-block.ts';
import {
  type BlockReader,
  type BlockShape,
  checkMembers,
  type KnownMembers,
  type NewBlock,
  onlyMember,
  UnboundedInput,
} from '../request/prompt-blocks.ts';

export const GEMINI_BLOCKS: BlockShape = {
  fields: { tools: addTools, systemInstruction: addSystem, contents: addContents },
  options: new Set(['generationConfig', 'toolConfig', 'safetySettings', 'serviceTier', 'labels']),
  // The documents don't say which thoughts of earlier turns the model reads again.
  keepsReasoning: (blocks) => blocks.every(({ kind }) => kind !== 'reasoning'),
};

/** Google takes both spellings of a field. */
const plain = (key: string): string => key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

const DECLARATION: KnownMembers = {
  texts: new Set(['name', 'description', 'behavior']),
  // biome-ignore format: they fit a few lines
  json: new Set([
    'parameters', 'parametersJsonSchema', 'parameters_json_schema', 'response', 'responseJsonSchema',
    'response_json_schema',
  ]),
};

function addTools(reader: BlockReader, list: Member): void {
  const { bytes } = reader;
  walkArray(bytes, list.start, (start) => {
    const members: Member[] = [];
    const end = readMembers(bytes, start, members);
    for (const { key, start: at } of members) {
      if (plain(key) !== 'functionDeclarations') throw new UnboundedInput(`the tool "${key.slice(0, 64)}"`);
      walkArray(bytes, at, (declaration) => {
        const fields: Member[] = [];
        const declarationEnd = readMembers(bytes, declaration, fields);
        checkMembers(bytes, fields, DECLARATION, 'a function');
        const name = onlyMember(fields, 'name');
        reader.add({
          kind: 'tool',
          role: 'tool',
          start: declaration,
          end: declarationEnd,
          isJson: true,
          name: name && stringAt(bytes, name),
        });
        return declarationEnd;
      });
    }
    return end;
  });
}

function addSystem(reader: BlockReader, { start }: Member): void {
  if (reader.bytes[start] === START_OF_NULL) return;
  addContent(reader, start, 'system');
}

function addContents(reader: BlockReader, { start }: Member): void {
  reader.walkMessages(start, (content) => {
    reader.openMessage();
    return addContent(reader, content);
  });
}

const ROLES: Readonly<Record<string, BlockRole>> = {
  '': 'user',
  user: 'user',
  model: 'assistant',
  function: 'user',
  system: 'system',
};

/** Adds the parts of a content and returns its end. */
export function addContent(reader: BlockReader, start: number, whose?: BlockRole): number {
  const { bytes } = reader;
  const members: Member[] = [];
  const end = readMembers(bytes, start, members);
  checkMembers(bytes, members, CONTENT, 'a content');
  const named = onlyMember(members, 'role');
  const name = (named && stringAt(bytes, named)) ?? '';
  const role = whose ?? (Object.hasOwn(ROLES, name) ? ROLES[name] : undefined);
  if (!role) throw new UnboundedInput(`a content with the role "${name.slice(0, 64)}"`);
  const parts = onlyMember(members, 'parts');
  if (!parts) return end;
  if (bytes[parts.start] !== OPEN_BRACKET) throw new UnboundedInput('an object as the parts of a content');
  walkArray(bytes, parts.start, (partStart) => {
    const fields: Member[] = [];
    const partEnd = readMembers(bytes, partStart, fields);
    addPart(reader, role, { start: partStart, end: partEnd }, fields);
    return partEnd;
  });
  return end;
}

const CONTENT: KnownMembers = { texts: new Set(['role']), json: new Set(['parts']) };

const SIGNATURE = /^thought_?signature$/i;
/** Members of a part that say something of its content. */
const BESIDE = new Set(['thought', 'thoughtSignature', 'partMetadata', 'videoMetadata', 'mediaResolution']);

/** A part has one content. What is sealed in it is a block of its own. */
function addPart(reader: BlockReader, role: BlockRole, { start, end }: Range, fields: Member[]): void {
  const { bytes } = reader;
  const contents = fields.filter(({ key }) => !BESIDE.has(plain(key)));
  const [content] = contents;
  if (contents.length > 1) throw new UnboundedInput('a part with several contents');
  const seals = fields.filter(({ key, start: at }) => SIGNATURE.test(key) && bytes[at] === QUOTE);
  const isThought = fields.some(({ key, start: at }) => key === 'thought' && bytes[at] === TRUE);
  const block = content ? blockOf(reader, role, content) : {};
  reader.add({
    kind: isThought
      ? 'reasoning'
      : role === 'assistant'
        ? 'assistant'
        : role === 'system'
          ? 'system'
          : 'user',
    role,
    start,
    end,
    parts: seals,
    ...block,
  });
  for (const seal of seals) reader.add({ kind: 'reasoning', role, start: seal.start, end: seal.end });
}

/** The first letter of `true`. */
const TRUE = 0x74;

/** What is known of the content of a part. Throws UnboundedInput for what may have more tokens than bytes. */
function blockOf(reader: BlockReader, role: BlockRole, member: Member): Partial<NewBlock> {
  const { bytes } = reader;
  switch (plain(member.key)) {
    case 'text':
      return {};
    case 'functionCall':
    case 'executableCode':
    case 'codeExecutionResult':
      return { isJson: true };
    case 'functionResponse': {
      const { parts } = objectAt(bytes, member);
      const inner = objectsIn(parts).map(({ inlineData, inline_data }) => inlineData ?? inline_data);
      return { kind: 'result', role, isJson: true, ...imagesIn(reader, inner) };
    }
    case 'inlineData':
      return { ...imagesIn(reader, [objectAt(bytes, member)]) };
    default:
      throw new UnboundedInput(`"${member.key.slice(0, 64)}" in a part`);
  }
}

function objectAt(bytes: Buffer, member: Member): Record<string, unknown> {
  const value = readValue(bytes, member);
  if (!isObject(value)) throw new UnboundedInput(`a value of "${member.key}" that is no object`);
  return value;
}

/** Counts images. A document, a film or a recording in the request may have more tokens than bytes. */
function imagesIn(reader: BlockReader, media: readonly unknown[]): { images: number; inline: number } {
  let images = 0;
  let inline = 0;
  for (const each of media) {
    const { mimeType, mime_type, data } = isObject(each) ? each : {};
    if (typeof data !== 'string') throw new UnboundedInput('media by address');
    const type = String(mimeType ?? mime_type);
    if (type.startsWith('image/')) {
      images++;
      inline += data.length;
    } else if (!type.startsWith('text/')) reader.unseen ??= `${type.slice(0, 64)} data`;
  }
  return { images, inline };
}
