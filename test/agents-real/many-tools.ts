/** The program of an MCP server with many tools: https://modelcontextprotocol.io/specification */
export const serverOf = (tools: number) => `
const tools = Array.from({ length: ${tools} }, (_, i) => ({
  name: 'tool_' + i,
  description: 'Does the thing number ' + i + '. ' + 'It has much to say of itself. '.repeat(40),
  inputSchema: { type: 'object', properties: { x: { type: 'string' } } },
}));
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result =
    method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
      : method === 'tools/list' ? { tools } : {};
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
`;
