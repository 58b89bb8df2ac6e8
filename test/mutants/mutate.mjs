// Single changes of a TypeScript source that its tests should notice.
import { parseAst } from 'rolldown/parseAst';

const OPERATORS = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
  '+=': '-=',
  '-=': '+=',
  '++': '--',
  '--': '++',
};
const OPERATED = new Set([
  'BinaryExpression',
  'LogicalExpression',
  'AssignmentExpression',
  'UpdateExpression',
]);
const CONDITIONAL = new Set(['IfStatement', 'ConditionalExpression']);

/**
 * The mutants of a source: each replaces the text between `start` and `end` by `to`, within the expression `whole`.
 * @param {string} source
 * @returns {{ start: number, end: number, to: string, whole: { start: number, end: number }, line: number }[]}
 */
export function mutantsOf(source) {
  const found = [];
  const change = ({ start, end }, to, whole) =>
    found.push({ start, end, to, whole, line: source.slice(0, start).split('\n').length });
  const replace = ({ start, end }, to) => change({ start, end }, to, { start, end });
  walk(parseAst(source, { lang: 'ts' }), (node) => {
    if (OPERATED.has(node.type)) operator(node, source, change);
    else if (CONDITIONAL.has(node.type)) for (const to of ['true', 'false']) replace(node.test, to);
    else if (node.type === 'Literal' && typeof node.value === 'boolean') replace(node, String(!node.value));
    else if (node.type === 'ExpressionStatement' && isCall(node.expression))
      replace(node.expression, 'undefined');
    else if (node.type === 'ReturnStatement' && node.argument) replace(node.argument, 'undefined');
  });
  return found
    .filter(({ start, end, to }) => source.slice(start, end) !== to)
    .sort((a, b) => a.start - b.start || a.to.localeCompare(b.to));
}

/**
 * The source with all of these mutants in it, of which none is in force until `globalThis.mutant(number)`, which is asked
 * whenever one is reached, says true of its number.
 * @param {string} source
 * @param {{ start: number, end: number, to: string, whole: { start: number, end: number }, number: number }[]} mutants
 */
export function withSwitches(source, mutants) {
  const outermost = (a, b) => a.whole.start - b.whole.start || b.whole.end - a.whole.end;
  const written = (start, end, inside) => {
    const [first, ...others] = inside;
    if (!first) return source.slice(start, end);
    const { whole, number, to } = first;
    const within = others.filter((other) => other.whole.start < whole.end);
    const after = others.filter((other) => other.whole.start >= whole.end);
    const changed = source.slice(whole.start, first.start) + to + source.slice(first.end, whole.end);
    const same = written(whole.start, whole.end, within);
    const switched = `(globalThis.mutant(${number}) ? (${changed}) : (${same}))`;
    return source.slice(start, whole.start) + switched + written(whole.end, end, after);
  };
  return written(0, source.length, mutants.toSorted(outermost));
}

function operator(node, source, change) {
  const to = OPERATORS[node.operator];
  const [before, after] = node.argument ? [node, node] : [node.left, node.right];
  if (to === undefined || (to === '-' && (isText(node.left) || isText(node.right)))) return;
  const from = node.argument ? node.start : before.end;
  const start = source.indexOf(node.operator, from);
  const end = start + node.operator.length;
  if (start >= 0 && end <= after.end) change({ start, end }, to, { start: node.start, end: node.end });
}

const isText = (node) =>
  node?.type === 'TemplateLiteral' || (node?.type === 'Literal' && typeof node.value === 'string');

const isCall = (node) =>
  node.type === 'CallExpression' || (node.type === 'AwaitExpression' && isCall(node.argument));

function walk(node, visit) {
  if (Array.isArray(node)) for (const each of node) walk(each, visit);
  else if (node && typeof node.type === 'string') {
    // Types are not run; an import is no behaviour.
    if (
      node.type.startsWith('TSType') ||
      node.type.startsWith('TSInterface') ||
      node.type === 'ImportDeclaration'
    )
      return;
    visit(node);
    for (const [key, value] of Object.entries(node))
      if (key !== 'parent' && typeof value === 'object') walk(value, visit);
  }
}
