// Answer with the language service of TypeScript what names mean: `node truth_typescript.cjs ROOT`, sites from the
// standard input, one JSON list of places for each. NODE_PATH names a folder that holds typescript.
const ts = require("typescript");
const fs = require("fs");
const path = require("path");

const root = fs.realpathSync(process.argv[2]);
const sites = fs.readFileSync(0, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const config = ts.findConfigFile(root, ts.sys.fileExists);
let options = { allowJs: true, jsx: ts.JsxEmit.Preserve, target: ts.ScriptTarget.ESNext, moduleResolution: 100 };
if (config) {
  const parsed = ts.parseJsonConfigFileContent(ts.readConfigFile(config, ts.sys.readFile).config, ts.sys, root);
  options = { ...parsed.options, allowJs: true, noEmit: true };
}
const names = [];
function walk(folder) {
  for (const each of fs.readdirSync(folder, { withFileTypes: true })) {
    if (each.name === "node_modules" || each.name.startsWith(".")) continue;
    const inner = path.join(folder, each.name);
    if (each.isDirectory()) walk(inner);
    else if (/\.[cm]?[jt]sx?$/.test(each.name)) names.push(inner);
  }
}
walk(root);
const texts = new Map();
const text = (name) => {
  if (!texts.has(name)) texts.set(name, fs.readFileSync(name, "utf8"));
  return texts.get(name);
};
const service = ts.createLanguageService({
  getScriptFileNames: () => names,
  getScriptVersion: () => "1",
  getScriptSnapshot: (name) => (fs.existsSync(name) ? ts.ScriptSnapshot.fromString(text(name)) : undefined),
  getCurrentDirectory: () => root,
  getCompilationSettings: () => options,
  getDefaultLibFileName: (each) => ts.getDefaultLibFilePath(each),
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
  readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists,
  getDirectories: ts.sys.getDirectories,
});
const lineOf = (name, at) => text(name).slice(0, at).split("\n").length;
for (const site of sites) {
  const name = path.join(root, site.path);
  const lines = text(name).split("\n");
  const at = lines.slice(0, site.line - 1).reduce((sum, each) => sum + each.length + 1, 0) + site.column;
  let found = [];
  try {
    found = service.getDefinitionAtPosition(name, at) || [];
  } catch (error) {
    console.error(`${site.path}:${site.line}: ${error.message}`);
  }
  console.log(
    JSON.stringify(
      found.map((each) =>
        each.fileName.startsWith(root + path.sep) && !each.fileName.includes("node_modules")
          ? [path.relative(root, each.fileName), lineOf(each.fileName, each.textSpan.start)]
          : ["", 0],
      ),
    ),
  );
}
