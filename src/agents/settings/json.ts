import {
  getNodeValue,
  type Node as JsonNode,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { type Format, type Path, SettingsSyntaxError } from './change.ts';
import { insertInFlow, removeFromFlow, unitOf } from './flow.ts';
import { eolOf, indentAt, indented, spliced } from './source-text.ts';
import { follow, type Item, type Node, sourceAt } from './tree.ts';

const STYLE = { breaks: true, padding: '' };

/** JSON with comments and trailing commas, which many programs allow. jsonc-parser finds the ranges. */
export const json: Format = {
  parse: (text) => (rootOf(text) ? parse(text, [], { allowTrailingComma: true }) : undefined),
  source: (text, path) => sourceAt(text, rootOf(text), path),
  print: (value) => JSON.stringify(value, null, 2),
  set(text, path, source, isRaw = false) {
    const root = rootOf(text);
    const eol = eolOf(text);
    if (root === undefined)
      return text.trimEnd() + (text.trim() && eol) + indented(printed(path, source, text), '', eol) + eol;
    const { node, rest } = follow(root, path);
    const [step, ...inner] = rest;
    if (step === undefined)
      return isRaw
        ? spliced(text, [{ ...node, text: source }])
        : replaced(text, node, printed([], source, text));
    if (node.kind === 'scalar') return replaced(text, node, printed(rest, source, text));
    const isOneLine = node.items.length > 0 && !text.slice(node.start, node.end).includes('\n');
    const lines = printed(inner, source, text);
    const value = isOneLine ? JSON.stringify(parse(lines)) : lines;
    return insertInFlow(
      text,
      node,
      typeof step === 'string' ? `${JSON.stringify(step)}: ${value}` : value,
      STYLE,
    );
  },
  remove(text, path) {
    const root = rootOf(text);
    const last = root && follow(root, path).way.at(-1);
    return last ? removeFromFlow(text, last.container, last.container.items.indexOf(last.item)) : text;
  },
};

function replaced(text: string, { start, end }: Node, source: string): string {
  return spliced(text, [{ start, end, text: indented(source, indentAt(text, start), eolOf(text)) }]);
}

/** Source text of a value inside the containers of a path, on separate lines and in the text's indentation. */
function printed(path: Path, source: string, text: string): string {
  const unit = unitOf(text);
  const value = source.replace(/^(?: {2})+/gm, (indent) => unit.repeat(indent.length / 2));
  return path.reduceRight<string>((inner, step) => {
    const [open, close, key] =
      typeof step === 'string' ? ['{', '}', `${JSON.stringify(step)}: `] : ['[', ']', ''];
    return `${open}\n${unit}${key}${indented(inner, unit, '\n')}\n${close}`;
  }, value);
}

function rootOf(text: string): Node | undefined {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [error] = errors;
  if (error) {
    const line = text.slice(0, error.offset).split('\n').length;
    throw new SettingsSyntaxError(`not JSON: ${printParseErrorCode(error.error)} in line ${line}`);
  }
  return root && nodeOf(root);
}

function nodeOf(node: JsonNode): Node {
  const kind = node.type === 'object' ? 'map' : node.type === 'array' ? 'list' : 'scalar';
  const items = (node.children ?? []).flatMap((child): Item[] => {
    if (kind === 'list') return [{ start: child.offset, node: nodeOf(child) }];
    const [key, value] = child.children ?? [];
    return key && value ? [{ key: String(key.value), start: child.offset, node: nodeOf(value) }] : [];
  });
  return {
    start: node.offset,
    end: node.offset + node.length,
    value: getNodeValue(node),
    kind,
    isFlow: true,
    items,
  };
}
