package jsparse

import (
	"strings"
	"testing"
)

// TestMocking has programs replace modules: their imports follow dynamically, each on its line.
func TestMocking(t *testing.T) {
	const vitest = "import{vi}from'vitest'\n"
	for source, want := range map[string]string{
		vitest + "import d,{a as b, type T} from './a'\nvi.mock('./a', () => ({\n a: 1 }))\nb()": `begin(import.meta,(s,o)=>import(s,o),true);__coderunner_mock0__();await __coderunner_mocks__.ready();import{vi}from'vitest'
let {default:d,a : b,  T} =  await  __coderunner_mocks__.names('./a');
function __coderunner_mock0__(){vi.mock('./a', () => ({
 a: 1 }))}
`,
		vitest + "import j from './j.json'; import './s'; vi.unmock('x'); const {f, g: [h], i = 2} = await vi.hoisted(() => 1)": `const{f,h,i}=await __coderunner_mock1__();await __coderunner_mocks__.ready();import{vi}from'vitest'
let {default:j} =  await  __coderunner_mocks__.names('./j.json',{with:{type:"json"}});; await  __coderunner_mocks__.import('./s');; function __coderunner_mock0__(){vi.unmock('x')}; async function __coderunner_mock1__(){const {f, g: [h], i = 2} = await vi.hoisted(() => 1);return{f,h,i}}`,
		vitest + "vi.mock(import('./a'), f); await import('./b'); let m: typeof import('./c'); vi.resetModules()": `
function __coderunner_mock0__(){vi.mock('./a', f)}; await __coderunner_mocks__.import('./b'); let m: typeof import('./c'); `,
		"import * as a from './a'; jest.spyOn(a, 'b'); test('c')":   `,false);__coderunner_mocks__.spies('./a');await __coderunner_mocks__.ready();let  a =  await  __coderunner_mocks__.import('./a');; jest.spyOn(a, 'b')`,
		"import * as a from './a'; jest.spyOn(a.b, 'b'); test('c')": `import{jest,test}from"@jest/globals";import * as a from './a'; jest.spyOn(a.b, 'b')`,
		"import * as a from './a'; a.mock(1)":                       `import * as a from './a'; const __coderunner_result__`,
	} {
		got := main(source).Edited()
		squeezed := strings.NewReplacer("  ", " ").Replace
		if !strings.Contains(squeezed(squeezed(got)), squeezed(squeezed(want))) {
			t.Errorf("%s\n%s\nwant\n%s", source, got, want)
		}
		if strings.Count(got, "\n") != strings.Count(source, "\n") {
			t.Errorf("%s\nhas other lines", got)
		}
	}
}
