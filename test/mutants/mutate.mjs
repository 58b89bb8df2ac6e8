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
 * The mutants of a source: each replaces the text between `start` and `end` by `to`.
 * @param {string} source
 * @returns {{ start: number, end: number, to: string, line: number }[]}
 */
export function mutantsOf(source) {
  const found = [];
  const change = (start, end, to) =>
    found.push({ start, end, to, line: source.slice(0, start).split('\n').length });
  walk(parseAst(source, { lang: 'ts' }), (node) => {
    if (OPERATED.has(node.type)) operator(node, source, change);
    else if (CONDITIONAL.has(node.type))
      for (const to of ['true', 'false']) change(node.test.start, node.test.end, to);
    else if (node.type === 'Literal' && typeof node.value === 'boolean')
      change(node.start, node.end, String(!node.value));
    else if (node.type === 'ExpressionStatement' && isCall(node.expression))
      change(node.start, node.end, ';');
    else if (node.type === 'ReturnStatement' && node.argument)
      change(node.argument.start, node.argument.end, 'undefined');
  });
  return found.sort((a, b) => a.start - b.start || a.to.localeCompare(b.to));
}

function operator(node, source, change) {
  const to = OPERATORS[node.operator];
  const [before, after] = node.argument ? [node, node] : [node.left, node.right];
  if (to === undefined || (to === '-' && (isText(node.left) || isText(node.right)))) return;
  const from = node.argument ? node.start : before.end;
  const at = source.indexOf(node.operator, from);
  if (at >= 0 && at + node.operator.length <= after.end) change(at, at + node.operator.length, to);
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
