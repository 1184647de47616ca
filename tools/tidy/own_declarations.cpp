// A plugin of clang-tidy 14: its checks look at the project's declarations alone. Without it they
// also visit those of all system headers, of which nothing is reported, for most of the time.

#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>

#include <vector>

namespace {

namespace matchers = clang::ast_matchers;
namespace tidy = clang::tidy;

/// Is called for the first node, before the search goes on to those below it.
class OwnDeclarations final : public tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  void registerMatchers(matchers::MatchFinder* finder) override {
    finder->addMatcher(matchers::translationUnitDecl().bind("unit"), this);
  }
  void check(const matchers::MatchFinder::MatchResult& found) override {
    std::vector<clang::Decl*> own;
    for (clang::Decl* const one : found.Context->getTranslationUnitDecl()->decls()) {
      if (!found.SourceManager->isInSystemHeader(one->getLocation())) own.push_back(one);
    }
    found.Context->setTraversalScope(own);
  }
};

class Module final : public tidy::ClangTidyModule {
 public:
  void addCheckFactories(tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<OwnDeclarations>("pinfold-own-declarations");
  }
};

const tidy::ClangTidyModuleRegistry::Add<Module> kModule("pinfold", "");

}  // namespace
