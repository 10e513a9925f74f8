// Loaded before a TypeScript entry (`node --import`): an older Node would only say that it does not know `.ts`.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `This needs Node 22.18 or newer, and ${process.execPath} is ${process.versions.node}. ` +
      'Run it through npm after `npm ci`: on Linux that brings a Node of its own (node_modules/.bin/node).',
  );
  process.exit(1);
}
